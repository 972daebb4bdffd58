package session

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/synthetic"
)

// A preview is the tiny model's decode of the whole clip. It comes before the first tile,
// does not change the result, and leaves no weights on the device.
func TestPreview(t *testing.T) {
	p, h := start(t)
	path := filepath.Join(t.TempDir(), "tae.safetensors")
	require.NoError(t, synthetic.CreateTAEHV(path, synthetic.TAEHVConfig{Encoder: 8, Decoder: []int{16, 8, 8, 8}}))
	small, err := os.ReadFile(path)
	require.NoError(t, err)
	p.files[10], p.files[11] = wan(t, synthetic.WanConfig{}), small
	p.files[12] = latentOf(t, 16, nil)

	p.use(100, 11, "taew2_1.safetensors")
	want := p.decode(101, 12, "z.safetensors", map[string]any{"tile": "off"})
	p.use(102, 10, "wan.safetensors")
	plain := p.decode(103, 12, "z.safetensors", tiled)
	bytesBefore := h.dev.Stats().Bytes
	ask := map[string]any{"type": "decode", "source": p.source(12, "z.safetensors"), "preview": p.source(11, "taew2_1.safetensors"), "options": tiled}
	end, all := p.run(104, ask)
	require.Equal(t, "result", end.Type, end.Message)
	var preview, frames [][]byte
	for i, m := range all {
		switch m.Type {
		case "preview":
			preview = append(preview, m.payload)
			assert.Equal(t, 1, count(all[:i], "plan"), "plans before frame %d of the preview", len(preview))
			for _, kind := range []string{"progress", "tile", "frame"} {
				assert.Zero(t, count(all[:i], kind), "%s before frame %d of the preview", kind, len(preview))
			}
		case "frame":
			frames = append(frames, m.payload)
		}
	}
	assert.Len(t, want, 9)
	assert.True(t, slices.EqualFunc(want, preview, bytes.Equal), "the preview is not the tiny model's decode")
	assert.True(t, slices.EqualFunc(plain, frames, bytes.Equal), "the result is not what it is without a preview")
	assert.NotZero(t, count(all, "tile"))
	assert.Equal(t, bytesBefore, h.dev.Stats().Bytes, "bytes left on the device")

	end, all = p.run(105, map[string]any{"type": "decode", "source": p.source(12, "z.safetensors"), "preview": p.source(11, "taehv.safetensors"), "options": tiled})
	assert.Equal(t, "bad_input", end.Code)
	assert.Contains(t, end.Message, "taehv.safetensors is TAEHV for HunyuanVideo")
	assert.Contains(t, end.Message, "expected one for those of wan.safetensors: Wan 2.1")
	assert.Zero(t, count(all, "tile"))
	ask["id"] = 106
	p.receive(ask, nil)
	end, _ = p.end(106)
	assert.Equal(t, "result", end.Type, end.Message)
}
