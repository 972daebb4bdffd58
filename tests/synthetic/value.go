// Package synthetic computes tensor values from tensor names ("synthetic v1"). A
// checkpoint or an input of any size can therefore be created when needed, is equal on every
// machine, and is never stored. The goldens use the same formula.
//
// Start with Fill for inputs, and with WriteSeedVR2, WriteWan or a Create function for
// checkpoints:
//
//	err := synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{Widths: []int{32, 64, 96, 96}, Latent: 4})
package synthetic

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// Value returns element i, in row-major order, of the raw tensor called key: uniform in
// [-1, 1). It is splitmix64 seeded with the FNV-1a hash of the key.
func Value(key string, i uint64) float64 { return value(hash(key), i) }

// Fill sets dst[i] to Value(key, i). To use a clip with fewer frames than the tensor,
// fill the whole tensor first, and then take the first frames of each channel.
func Fill(key string, dst []float64) {
	h := hash(key)
	for i := range dst {
		dst[i] = value(h, uint64(i))
	}
}

// Weight returns a whole weight tensor, row-major, in float32; see FillWeight.
func Weight(key string, shape []int) []float32 {
	n := 1
	for _, d := range shape {
		n *= d
	}
	dst := make([]float32, n)
	FillWeight(key, shape, 0, dst)
	return dst
}

// FillWeight sets dst to the elements of the weight called key, from start on. It
// scales the raw values by the kind of tensor, which the name and shape determine, in
// float64, and rounds once:
//
//	norm weight           1 + 0.1·v, and deviations of latents
//	convolution, linear   v·sqrt(3 / fan-in), unit variance in and out
//	bias                  0.1·v
//	running variance      1 + 0.5·v
//	count of batches      0
func FillWeight(key string, shape []int, start int, dst []float32) {
	offset, scale := scaling(key, shape)
	h := hash(key)
	for i := range dst {
		dst[i] = float32(offset + scale*value(h, uint64(start+i)))
	}
}

func scaling(key string, shape []int) (offset, scale float64) {
	norm := strings.HasSuffix(key, "gamma") || strings.HasSuffix(key, "std-of-means") ||
		strings.Contains(key, "norm") && strings.HasSuffix(key, "weight")
	switch {
	case norm:
		return 1, 0.1
	case strings.HasSuffix(key, "running_var"):
		return 1, 0.5
	case strings.HasSuffix(key, "num_batches_tracked"):
		return 0, 0
	case len(shape) >= 2 && !slices.Contains(shape, 0):
		fanIn := 1
		for _, d := range shape[1:] {
			fanIn *= d
		}
		return 0, math.Sqrt(3 / float64(fanIn))
	}
	return 0, 0.1
}

func hash(key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return h.Sum64()
}

func value(h, i uint64) float64 {
	z := h + (i+1)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(z>>11)*0x1p-52 - 1
}
