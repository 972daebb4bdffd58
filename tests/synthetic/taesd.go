package synthetic

import (
	"cmp"
	"fmt"

	"tessera/format/safetensors"
)

// TAESDConfig is a tiny autoencoder for pictures, of any size, in the original naming.
type TAESDConfig struct {
	Encoder []int                    // widths per resolution, shallow to deep; default 64, 64, 64, 64
	Decoder []int                    // deep to shallow; the same default
	Latent  int                      // default 4
	Pixel   int                      // channels of a pixel, or of a patch; default 3
	Stem    int                      // initial convolutions of the encoder with ReLU: 0, 1 over patches, or 2 that halve
	Pools   bool                     // the deepest blocks pool the whole picture
	DType   safetensors.DType        // default F16. F32 leaves the weights unrounded.
	Name    func(name string) string // maps a tensor's name to the one in the file; nil: the original name
}

// CreateTAESD streams a checkpoint of synthetic weights into a new file at path.
func CreateTAESD(path string, c TAESDConfig) error {
	return stream(path, TAESD(c), c.DType, c.Name)
}

// TAESD lists every tensor under its original name.
func TAESD(c TAESDConfig) []Spec {
	widths := []int{64, 64, 64, 64}
	if c.Encoder == nil {
		c.Encoder = widths
	}
	if c.Decoder == nil {
		c.Decoder = widths
	}
	pixel, latent := cmp.Or(c.Pixel, 3), cmp.Or(c.Latent, 4)
	var t table
	bare := func(name string, shape ...int) { t = append(t, Spec{name + ".weight", shape}) }
	blocks := func(half string, at, n, c int, pools bool) int {
		for i := range n {
			name := fmt.Sprintf("%s.%d", half, at+i)
			for _, k := range []string{"0", "2", "4"} {
				t.conv(name+".conv."+k, c, c, 3, 3)
			}
			if pools {
				bare(name+".pool.0", 4*c, c, 1, 1)
				t.norm(name+".pool.1", 4*c)
				bare(name+".pool.3", c, 4*c, 1, 1)
			}
		}
		return at + n
	}

	in, at, rest := c.Encoder[0], 1, c.Encoder[1:]
	t.conv(fmt.Sprintf("encoder.%d", c.Stem%2), in, pixel, 3, 3)
	if c.Stem == 1 {
		at = 3
	}
	if c.Stem == 2 {
		t.conv("encoder.2", rest[0], in, 3, 3)
		in, at, rest = rest[0], 4, rest[1:]
	}
	at = blocks("encoder", at, 1, in, false)
	for i, w := range rest {
		bare(fmt.Sprintf("encoder.%d", at), w, in, 3, 3)
		at, in = blocks("encoder", at+1, 3, w, c.Pools && i == len(rest)-1), w
	}
	t.conv(fmt.Sprintf("encoder.%d", at), latent, in, 3, 3)

	in = c.Decoder[0]
	t.conv("decoder.1", in, latent, 3, 3)
	at = blocks("decoder", 3, 3, in, c.Pools)
	for i, w := range c.Decoder[1:] {
		bare(fmt.Sprintf("decoder.%d", at+1), w, in, 3, 3)
		n := 3
		if i == len(c.Decoder)-2 {
			n = 1
		}
		at, in = blocks("decoder", at+2, n, w, false), w
	}
	t.conv(fmt.Sprintf("decoder.%d", at), pixel, in, 3, 3)
	return t
}
