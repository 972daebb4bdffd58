package vae

import (
	"maps"
	"slices"

	"tessera/gpu"
)

// OpenPublished is Published with a device to run on, and with random weights of the
// magnitude of trained ones: for measuring speed.
func OpenPublished(dev *gpu.Device, name string, o Settings) (*Model, error) {
	m, err := Published(name, dev.Info(), o)
	if err != nil {
		return nil, err
	}
	m.randomWeights = newRandomWeights(m.specs, m.zeros)
	return m.on(dev), nil
}

// randomWeights generates random tensors of given shapes. Weights lie between -2^-7 and
// 2^-7, which over some thousand inputs neither grow nor vanish.
type randomWeights struct {
	sizes map[string]int
	state uint32
}

func newRandomWeights(specs []spec, biases map[string]int) *randomWeights {
	m := &randomWeights{sizes: maps.Clone(biases), state: 1}
	for _, s := range specs {
		n := 1
		for _, d := range s.shape {
			n *= d
		}
		m.sizes[s.name] = n
	}
	return m
}

// next advances xorshift32.
func (m *randomWeights) next() uint32 {
	m.state ^= m.state << 13
	m.state ^= m.state >> 17
	m.state ^= m.state << 5
	return m.state
}

// Float32s appends a tensor.
func (m *randomWeights) Float32s(dst []float32, name string) ([]float32, error) {
	n := m.sizes[name]
	dst = slices.Grow(dst, n)
	for range n {
		dst = append(dst, float32(int32(m.next()))*0x1p-38)
	}
	return dst, nil
}

// Float16s appends a tensor as halves: a sign, 2^-9 to 2^-7, and ten more bits.
func (m *randomWeights) Float16s(dst []uint16, name string) ([]uint16, error) {
	n := m.sizes[name]
	dst = slices.Grow(dst, n)
	for range n {
		bits := m.next() >> 8
		dst = append(dst, uint16(bits)&0x87ff|0x1800)
	}
	return dst, nil
}
