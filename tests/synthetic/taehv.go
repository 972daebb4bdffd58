package synthetic

import (
	"cmp"
	"fmt"

	"tessera/format/safetensors"
)

// TAEHVConfig is a TAEHV of any size.
type TAEHVConfig struct {
	Latent  int                      // default 16
	Patch   int                      // default 1
	Encoder int                      // channels of the encoder; default 64
	Decoder []int                    // of the decoder's stages, deep to shallow; default 256, 128, 64, 64
	Halves  bool                     // each of the three stages halves time, as for LTX; else the encoder's first two halve it, and the decoder's last two double it
	Blocks  string                   // of the decoder: "wide", "super"; "" for the usual ones
	Lacks   string                   // "encoder" or "decoder"
	DType   safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name    func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

// CreateTAEHV streams a checkpoint of synthetic weights into a new file at path.
func CreateTAEHV(path string, c TAEHVConfig) error {
	return stream(path, TAEHV(c), c.DType, c.Name)
}

// TAEHV lists every tensor under its original name.
func TAEHV(c TAEHVConfig) []Spec {
	c.Latent, c.Patch, c.Encoder = cmp.Or(c.Latent, 16), cmp.Or(c.Patch, 1), cmp.Or(c.Encoder, 64)
	if c.Decoder == nil {
		c.Decoder = []int{256, 128, 64, 64}
	}
	var t table
	if c.Lacks != "encoder" {
		t.tinyEncoder(c)
	}
	switch {
	case c.Lacks == "decoder":
	case c.Blocks == "super":
		t.superDecoder(c)
	default:
		t.tinyDecoder(c)
	}
	return t
}

// weight adds a weight without a bias.
func (t *table) weight(name string, shape ...int) { *t = append(*t, Spec{name + ".weight", shape}) }

func (t *table) tinyEncoder(c TAEHVConfig) {
	n := c.Encoder
	t.conv("encoder.0", n, 3*c.Patch*c.Patch, 3, 3)
	for i := range 3 {
		at, pool := 2+5*i, 2
		if i == 2 && !c.Halves {
			pool = 1
		}
		t.weight(fmt.Sprintf("encoder.%d.conv", at), n, pool*n, 1, 1)
		t.weight(fmt.Sprintf("encoder.%d", at+1), n, n, 3, 3)
		for k := range 3 {
			t.memory(fmt.Sprintf("encoder.%d.conv", at+2+k), n, "")
		}
	}
	t.conv("encoder.17", c.Latent, n, 3, 3)
}

// memory adds a block that also reads the previous frame.
func (t *table) memory(name string, n int, blocks string) {
	switch blocks {
	case "wide":
		group := n / max(1, n/64)
		t.conv(name+".0", n, 2*n, 1, 1)
		t.conv(name+".2", n, group, 3, 3)
		t.conv(name+".4", n, n, 1, 1)
		t.conv(name+".6", n, group, 3, 3)
	case "super":
		t.weight(name+".0", 2*n, 1, 7, 7)
		t.conv(name+".1", 4*n, 2*n, 1, 1)
		t.weight(name+".3", n, 4*n, 1, 1)
	default:
		t.conv(name+".0", n, 2*n, 3, 3)
		t.conv(name+".2", n, n, 3, 3)
		t.conv(name+".4", n, n, 3, 3)
	}
}

// grow returns the factor by which stage i of the decoder multiplies frames.
func (c TAEHVConfig) grow(i int) int {
	if i == 0 && !c.Halves {
		return 1
	}
	return 2
}

func (t *table) tinyDecoder(c TAEHVConfig) {
	w := c.Decoder
	t.conv("decoder.1", w[0], c.Latent, 3, 3)
	for i := range 3 {
		at := 3 + 6*i
		for k := range 3 {
			t.memory(fmt.Sprintf("decoder.%d.conv", at+k), w[i], c.Blocks)
		}
		t.weight(fmt.Sprintf("decoder.%d.conv", at+4), c.grow(i)*w[i], w[i], 1, 1)
		t.weight(fmt.Sprintf("decoder.%d", at+5), w[i+1], w[i], 3, 3)
	}
	t.conv("decoder.22", 3*c.Patch*c.Patch, w[3], 3, 3)
}

func (t *table) superDecoder(c TAEHVConfig) {
	w := c.Decoder
	t.weight("decoder.0", w[0], c.Latent, 1, 1)
	for i := range 3 {
		at := 1 + 7*i
		for k := range 3 {
			t.memory(fmt.Sprintf("decoder.%d.conv", at+k), w[i], c.Blocks)
		}
		t.conv(fmt.Sprintf("decoder.%d", at+3), 4*w[i+1], w[i], 3, 3)
		t.weight(fmt.Sprintf("decoder.%d.conv", at+6), c.grow(i)*w[i+1], w[i+1], 1, 1)
	}
	t.conv("decoder.22", 3*c.Patch*c.Patch, w[3], 3, 3)
}
