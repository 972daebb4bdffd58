package synthetic

import (
	"cmp"
	"fmt"
	"io"

	"tessera/format/safetensors"
)

// WanConfig is an autoencoder of Wan 2.1, Wan 2.2 or Qwen-Image of any size.
type WanConfig struct {
	Nested   bool                     // Wan 2.2, whose blocks are nested in stages
	Still    bool                     // Qwen-Image-2.1, nested in five stages, for pictures only
	Dim      int                      // encoder's base width; default 96, Wan 2.2 160
	Decoder  int                      // decoder's base width; default Dim, Wan 2.2 256, still 144
	Latent   int                      // latent channels; default 16, Wan 2.2 48, still 64
	Channels int                      // of a pixel; default 3, still 4
	Outputs  int                      // channels of the decoder's output; default those of a pixel, nested those of 2x2 pixels
	DType    safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name     func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

func (c WanConfig) withDefaults() WanConfig {
	dim, latent := 96, 16
	switch {
	case c.Still:
		c.Nested, latent = true, 64
		c.Channels = cmp.Or(c.Channels, 4)
		c.Decoder = cmp.Or(c.Decoder, 144)
	case c.Nested:
		dim, latent = 160, 48
		c.Decoder = cmp.Or(c.Decoder, 256)
	}
	c.Dim = cmp.Or(c.Dim, dim)
	c.Decoder = cmp.Or(c.Decoder, c.Dim)
	c.Latent = cmp.Or(c.Latent, latent)
	c.Channels = cmp.Or(c.Channels, 3)
	return c
}

// WriteWan streams a checkpoint of synthetic weights. The values derive from the
// original names, whatever the names in the file.
func WriteWan(out io.Writer, c WanConfig) error {
	c = c.withDefaults()
	return write(out, Wan(c), c.DType, c.Name, nil)
}

// CreateWan calls WriteWan for a new file at path.
func CreateWan(path string, c WanConfig) error {
	return create(path, func(out io.Writer) error { return WriteWan(out, c) })
}

// Wan lists every tensor under its original name.
func Wan(c WanConfig) []Spec {
	c = c.withDefaults()
	pixel, widths, taps := c.Channels, []int{1, 2, 4, 4}, 3
	switch {
	case c.Still:
		widths, taps = []int{1, 2, 4, 8, 8}, 1
	case c.Nested:
		pixel *= 4 // patches of 2x2
	}
	last := len(widths) - 1
	t := wanTable{taps: taps}
	block := func(list string, stage, r, blocks int) string {
		if c.Nested {
			return fmt.Sprintf("%s.%d.%s.%d", list, stage, list[len("encoder."):], r)
		}
		return fmt.Sprintf("%s.%d", list, stage*(blocks+1)+r)
	}
	t.conv("encoder.conv1", c.Dim, pixel, taps, 3, 3)
	in := c.Dim
	for i, times := range widths {
		for r := range 2 {
			t.residual(block("encoder.downsamples", i, r, 2), in, c.Dim*times)
			in = c.Dim * times
		}
		if i < last {
			t.resample(block("encoder.downsamples", i, 2, 2), in, in, i > 0, in)
		}
	}
	t.wanMiddle("encoder", in)
	t.gamma("encoder.head.0", in, 3)
	t.conv("encoder.head.2", 2*c.Latent, in, taps, 3, 3)
	t.conv("conv1", 2*c.Latent, 2*c.Latent, 1, 1, 1)
	t.conv("conv2", c.Latent, c.Latent, 1, 1, 1)

	in = widths[last] * c.Decoder
	t.conv("decoder.conv1", in, c.Latent, taps, 3, 3)
	t.wanMiddle("decoder", in)
	for i := range widths {
		times := widths[last-i]
		for r := range 3 {
			t.residual(block("decoder.upsamples", i, r, 3), in, c.Decoder*times)
			in = c.Decoder * times
		}
		if i < last {
			out := in
			if !c.Nested {
				out = in / 2
			}
			t.resample(block("decoder.upsamples", i, 3, 3), in, out, i < last-1, 2*in)
			in = out
		}
	}
	t.gamma("decoder.head.0", in, 3)
	t.conv("decoder.head.2", cmp.Or(c.Outputs, pixel), in, taps, 3, 3)
	return t.table
}

// wanTable is a table whose convolutions have this many temporal taps.
type wanTable struct {
	table
	taps int
}

func (t *wanTable) gamma(name string, channels, ones int) {
	shape := []int{channels}
	for range ones {
		shape = append(shape, 1)
	}
	t.table = append(t.table, Spec{name + ".gamma", shape})
}

func (t *wanTable) residual(name string, in, out int) {
	t.gamma(name+".residual.0", in, 3)
	t.conv(name+".residual.2", out, in, t.taps, 3, 3)
	t.gamma(name+".residual.3", out, 3)
	t.conv(name+".residual.6", out, out, t.taps, 3, 3)
	if in != out {
		t.conv(name+".shortcut", out, in, 1, 1, 1)
	}
}

func (t *wanTable) resample(name string, in, out int, time bool, frames int) {
	t.conv(name+".resample.1", out, in, 3, 3)
	if time {
		t.conv(name+".time_conv", frames, in, t.taps, 1, 1)
	}
}

func (t *wanTable) wanMiddle(half string, channels int) {
	t.residual(half+".middle.0", channels, channels)
	t.gamma(half+".middle.1.norm", channels, 2)
	t.conv(half+".middle.1.to_qkv", 3*channels, channels, 1, 1)
	t.conv(half+".middle.1.proj", channels, channels, 1, 1)
	t.residual(half+".middle.2", channels, channels)
}
