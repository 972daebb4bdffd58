package latent

// Unpacked puts the values of packed pictures, [N,h/2,w/2,C,2,2], where [N,C,h,w]
// has them. Height and width are even.
func Unpacked(data []float32, channels, height, width int) []float32 {
	out := make([]float32, len(data))
	i := 0
	for n := range len(data) / (channels * height * width) {
		for y := range height / 2 {
			for x := range width / 2 {
				for c := range channels {
					row := out[((n*channels+c)*height+2*y)*width+2*x:]
					row[0], row[1], row[width], row[width+1] = data[i], data[i+1], data[i+2], data[i+3]
					i += 4
				}
			}
		}
	}
	return out
}
