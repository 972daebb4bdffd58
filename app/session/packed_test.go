package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
)

// A page decodes tokens of FLUX.1, whose size it sends, and packed channels of FLUX.2; it
// learns if a model is assumed.
func TestPackedInThePage(t *testing.T) {
	p, _ := start(t)
	file := func(name string, z latent.Latent) []byte {
		var b bytes.Buffer
		require.NoError(t, media.EncodeLatent(&b, name, z))
		return b.Bytes()
	}
	checkpoint := func(c synthetic.KLConfig) []byte {
		c.Widths, c.DType = []int{32, 32, 32, 32}, safetensors.F32
		path := filepath.Join(t.TempDir(), "kl.safetensors")
		require.NoError(t, synthetic.CreateKL(path, c))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		return data
	}
	open := func(id int, file []byte, name string) message {
		p.files[1] = file
		p.receive(map[string]any{"type": "open", "id": id, "source": p.source(1, name), "precision": "f32"}, nil)
		m, _ := p.end(id)
		require.Equal(t, "result", m.Type, m.Message)
		return m
	}
	frame := func(id int, name string, options map[string]any) (pixels []byte, warning string, failure message) {
		end, all := p.run(id, map[string]any{"type": "decode", "source": p.source(2, name), "options": options})
		for _, m := range all {
			switch m.Type {
			case "warning":
				warning += m.Message
			case "frame":
				pixels = m.payload
			}
		}
		if end.Type == "error" {
			failure = end
		}
		return pixels, warning, failure
	}
	m := open(10, checkpoint(synthetic.KLConfig{Latent: 4, Quant: true}), "thing.safetensors")
	assert.Contains(t, string(m.Value), `"kinds":["sd","sdxl","playground"],"assumed":true`)
	z := latent.Latent{Channels: 16, Frames: 1, Height: 1, Width: 2, Data: make([]float32, 32)}
	tokens := z
	tokens.Channels, tokens.Height, tokens.Width, tokens.Data = 1, 2, 16, make([]float32, 32) // [1,1,2,16]
	for i := range z.Data {
		z.Data[i] = float32(i%7)/4 - 0.7
		tokens.Data[i%2*16+i/2] = z.Data[i]
	}
	p.files[2] = file("z.npy", z.Unpack())
	want, warning, _ := frame(11, "z.npy", nil)
	require.Len(t, want, 16*32*4)
	assert.Regexp(t, `thing\.safetensors: the file does not say which model it is\. Assuming Stable Diffusion; .* another latent scale\.$`, warning, "without a flag")
	other, warning, _ := frame(12, "z.npy", map[string]any{"as": "sdxl"})
	assert.NotEqual(t, want, other)
	assert.NotContains(t, warning, "Assuming")

	raw := append(npyOf([]int{1, 2, 16}), file("z.npy", tokens)[128:]...)
	p.files[2] = raw
	_, _, failed := frame(13, "tokens.npy", nil)
	assert.Equal(t, "packed_size", failed.Code)
	assert.Contains(t, failed.Message, "packed latents have shape [1 2 16]")
	_, _, failed = frame(20, "tokens.npy", map[string]any{"packed": "32x32"})
	assert.Equal(t, "packed_size", failed.Code)
	assert.Contains(t, failed.Message, "4x4 cells have 4")
	_, _, failed = frame(14, "tokens.npy", map[string]any{"packed": "32"})
	assert.Equal(t, "bad_input", failed.Code)
	assert.Contains(t, failed.Message, `packed latents of "32" pixels, expected width x height such as 1024x768`)
	got, _, failed := frame(15, "tokens.npy", map[string]any{"packed": "32x16"})
	require.Empty(t, failed.Message)
	assert.Equal(t, want, got)
	p.receive(map[string]any{"type": "inspect", "id": 16, "source": p.source(2, "tokens.npy"), "options": map[string]any{"packed": "32x16"}}, nil)
	m, _ = p.end(16)
	assert.Contains(t, string(m.Value), `"shape":[4,1,2,4]`)

	// Channels last, and other names for the order of dimensions.
	p.files[2] = append(npyOf([]int{1, 8, 4}), raw[128:]...)
	last, _, failed := frame(21, "last.npy", map[string]any{"layout": "hwc"})
	require.Empty(t, failed.Message)
	first := latent.Latent{Channels: 4, Frames: 1, Height: 1, Width: 8, Data: make([]float32, 32)}
	for i, v := range tokens.Data {
		first.Data[i%4*8+i/4] = v
	}
	p.files[2] = file("first.npy", first)
	got, _, failed = frame(22, "first.npy", nil)
	require.Empty(t, failed.Message)
	assert.Equal(t, got, last)
	_, _, failed = frame(23, "first.npy", map[string]any{"layout": "WHC"})
	assert.Equal(t, "bad_input", failed.Code)
	assert.Contains(t, failed.Message, `layout "WHC", expected BCFHW, `)
	p.files[2] = raw

	m = open(17, checkpoint(synthetic.KLConfig{Latent: 4, Flux2: true}), "flux2.safetensors")
	assert.Contains(t, string(m.Value), `"kinds":[],"assumed":false`)
	want, _, failed = frame(18, "tokens.npy", map[string]any{"packed": "32x16"})
	require.Empty(t, failed.Message)
	p.files[2] = file("z.npy", z)
	got, warning, failed = frame(19, "z.npy", nil)
	require.Empty(t, failed.Message)
	assert.Empty(t, warning)
	assert.Equal(t, want, got)
}

// npyOf returns the first 128 bytes of a .npy of float32.
func npyOf(shape []int) []byte {
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]"))
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	return append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0}, text...)
}
