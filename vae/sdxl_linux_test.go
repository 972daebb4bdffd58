package vae

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// behindOthers writes a whole checkpoint: n tensors of halves, which are holes in the
// file, then a VAE's tensors with the prefix first_stage_model.
func behindOthers(t *testing.T, vae string, n int, shape ...int) string {
	t.Helper()
	from, err := os.Open(vae)
	require.NoError(t, err)
	defer from.Close()
	var length uint64
	require.NoError(t, binary.Read(from, binary.LittleEndian, &length))
	text := make([]byte, length)
	_, err = io.ReadFull(from, text)
	require.NoError(t, err)
	type entry struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	own, all := map[string]entry{}, map[string]entry{}
	require.NoError(t, json.Unmarshal(text, &own))
	bytes := int64(2)
	for _, d := range shape {
		bytes *= int64(d)
	}
	for i := range n {
		name := fmt.Sprintf("model.diffusion_model.input_blocks.%d.weight", i)
		if i%3 == 0 {
			name = fmt.Sprintf("conditioner.embedders.1.model.%d.weight", i)
		}
		all[name] = entry{"F16", shape, [2]int64{int64(i) * bytes, int64(i+1) * bytes}}
	}
	before := int64(n) * bytes
	for name, e := range own {
		e.Offsets = [2]int64{before + e.Offsets[0], before + e.Offsets[1]}
		all["first_stage_model."+name] = e
	}
	text, err = json.Marshal(all)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "whole.safetensors")
	to, err := os.Create(path)
	require.NoError(t, err)
	defer to.Close()
	require.NoError(t, binary.Write(to, binary.LittleEndian, uint64(len(text))))
	_, err = to.Write(text)
	require.NoError(t, err)
	_, err = to.Seek(before, io.SeekCurrent)
	require.NoError(t, err)
	_, err = io.Copy(to, from)
	require.NoError(t, err)
	return path
}

// SDXL's whole checkpoint of 6.9 GB, whose last 167 MB are the VAE, opens and decodes
// with little host memory: the bytes before the VAE are not read.
func TestWholeSDXLInLittleMemory(t *testing.T) {
	testenv.Long(t)
	dev := gputest.Open(t)
	if anonymous(t) == 0 {
		t.Skip("no /proc/self/status to read memory from")
	}
	path := behindOthers(t, made(t, "sdxl.safetensors", func(path string) error { return synthetic.CreateKL(path, synthetic.KLConfig{Quant: true}) }), 2500, 1200, 1128)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(6_900_000_000))
	debug.FreeOSMemory()
	little(t, dev, func() {
		m := open(t, dev, path, F32)
		assert.Equal(t, "SDXL", m.Config.Model)
		assert.False(t, m.Config.Assumed)
		z := Latent{Channels: 4, Frames: 1, Height: 2, Width: 2, Data: make([]float32, 16)}
		require.Len(t, decodeAll(t, m, z, DecodeOptions{}), 3*16*16)
	})
}
