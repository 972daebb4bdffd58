package latent

// Unpacked reorders the values of packed pictures, [N,h/2,w/2,C,2,2], to [N,C,h,w].
// Height and width are even.
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

// Unpack converts a latent [4C,L,h/2,w/2], whose channels hold squares of 2x2 cells, to
// [C,L,h,w]: channel 4c+2y+x is row y, column x of the squares of channel c. Without data
// it converts the shape only.
func (l Latent) Unpack() Latent {
	p := l
	p.Channels, p.Height, p.Width, p.Packed = l.Channels/4, 2*l.Height, 2*l.Width, true
	p.Data = moved(p, l.Data, func(whole, packed int) (to, from int) { return whole, packed })
	return p
}

// Pack is the inverse of Unpack. Height and width are even.
func (l Latent) Pack() Latent {
	p := l
	p.Channels, p.Height, p.Width, p.Packed = 4*l.Channels, l.Height/2, l.Width/2, false
	p.Data = moved(l, l.Data, func(whole, packed int) (to, from int) { return packed, whole })
	return p
}

// moved copies each value of data to the position that way returns, from its positions in
// the whole and the packed latent.
func moved(whole Latent, data []float32, way func(whole, packed int) (to, from int)) []float32 {
	if data == nil {
		return nil
	}
	out, i, h, w := make([]float32, len(data)), 0, whole.Height/2, whole.Width/2
	for n := range whole.Clips() * whole.Channels {
		for t := range whole.Frames {
			for y := range whole.Height {
				for x := range whole.Width {
					to, from := way(i, (((4*n+y%2*2+x%2)*whole.Frames+t)*h+y/2)*w+x/2)
					out[to] = data[from]
					i++
				}
			}
		}
	}
	return out
}
