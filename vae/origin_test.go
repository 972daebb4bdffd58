package vae

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
	"tessera/wgsl"
)

// tallied counts what is read.
type tallied struct {
	io.ReaderAt
	bytes int
}

func (c *tallied) ReadAt(p []byte, offset int64) (int, error) {
	c.bytes += len(p)
	return c.ReaderAt.ReadAt(p, offset)
}

// A fingerprint covers the size, the first and the last byte and samples between them,
// and reads at most a megabyte of a checkpoint. It covers small files completely.
func TestFingerprint(t *testing.T) {
	of := func(file []byte) string {
		r := &tallied{ReaderAt: bytes.NewReader(file)}
		var c Config
		require.NoError(t, c.Identify("a/file.pth", r, int64(len(file))))
		require.Equal(t, "file.pth", c.File)
		require.Len(t, c.Print, 32)
		require.LessOrEqual(t, r.bytes, min(len(file), samples*sampleBytes))
		return c.Print
	}
	seen := map[string]string{}
	tell := func(name string, file []byte) {
		p := of(file)
		assert.Empty(t, seen[p], "%s and %s", name, seen[p])
		seen[p] = name
	}
	for _, size := range []int{0, 1, 100, sampleBytes, sampleBytes + 1, samples * sampleBytes, samples*sampleBytes + 1, 40 << 20} {
		file := make([]byte, size)
		tell(fmt.Sprint(size), file)
		for _, at := range []int{0, size / 2, size - 1} {
			if size > 1 {
				file[at] ^= 1
				tell(fmt.Sprintf("byte %d of %d", at, size), file)
				file[at] ^= 1
			}
		}
	}
	// From the definition in ten lines of Python, for 17 MiB of zeros with a last byte of
	// 7. Other versions of this program have stored such fingerprints.
	file := make([]byte, 17<<20)
	file[len(file)-1] = 7
	require.Equal(t, "ff0fa33016603f35cb86dbaa81a2544b", of(file))
	var c Config
	err := c.Identify("cut.pth", bytes.NewReader(file[:10]), 20)
	require.ErrorIs(t, err, ErrBadModel)
	require.ErrorContains(t, err, "vae: cut.pth: 20 bytes at 0")
	require.True(t, errors.Is(err, io.EOF), "%v", err)
	require.NoError(t, c.Identify("\xff.pth", bytes.NewReader(nil), 0))
	require.Equal(t, "\uFFFD.pth", c.File)
}

// The file's metadata decides, else ComfyUI's convention, else the model's default.
func TestOrigin(t *testing.T) {
	clips := Config{Family: wan21, Latent: 16, ComfyUIUnscaled: true}
	pictures, seedvr2 := clips, Config{Family: "seedvr2", Latent: 16}
	pictures.Independent = true
	const pipeline, none = latent.ScalePipeline, latent.ScaleNone
	for name, c := range map[string]struct {
		model Config
		file  latent.Original
		want  Origin
	}{
		"no information":             {clips, latent.Original{}, Origin{Scale: pipeline}},
		"told":                       {clips, latent.Original{Scale: none}, Origin{Scale: none}},
		"told to be pictures":        {clips, latent.Original{Scale: none, Images: true}, Origin{Scale: none, Images: true}},
		"a batch":                    {clips, latent.Original{Images: true}, Origin{Scale: pipeline, Images: true}},
		"a model of pictures":        {pictures, latent.Original{}, Origin{Scale: pipeline, Images: true}},
		"told to be a clip":          {pictures, latent.Original{Scale: pipeline}, Origin{Scale: pipeline}},
		"ComfyUI":                    {clips, latent.Original{ComfyUI: true}, Origin{Scale: none, By: "ComfyUI"}},
		"OneTrainer":                 {pictures, latent.Original{Trainer: &latent.Trainer{Name: "OneTrainer", Unscaled: true}}, Origin{Scale: none, Images: true, By: "OneTrainer"}},
		"another trainer":            {clips, latent.Original{Trainer: &latent.Trainer{Name: "ai-toolkit"}}, Origin{Scale: pipeline}},
		"ComfyUI and a model of its": {seedvr2, latent.Original{ComfyUI: true}, Origin{Scale: pipeline}},
	} {
		assert.Equal(t, c.want, c.model.Origin(c.file), name)
	}
}

// A sample of moments is mean + exp(logvar/2) times encoding's noise, whose index counts
// channels first, then cells, then frames over all clips.
func TestDraw(t *testing.T) {
	m := Latent{Batch: 2, Channels: 4, Frames: 2, Height: 2, Width: 3, Moments: true, Data: make([]float32, 2*4*2*6)}
	for i := range m.Data {
		m.Data[i] = float32(i%13) - 6
	}
	z := Draw(m, 7)
	require.Equal(t, []int{2, 2, 2, 2, 3}, z.Shape())
	noise := make([]float32, len(z.Data))
	wgsl.Noise(noise, 7, 0)
	i := 0
	for clip := range 2 {
		for frame := range 2 {
			for cell := range 6 {
				for c := range 2 {
					at := ((clip*4+c)*2+frame)*6 + cell
					want := float64(m.Data[at]) + math.Exp(float64(m.Data[at+2*2*6])/2)*float64(noise[i])
					require.InDelta(t, want, z.Data[((clip*2+c)*2+frame)*6+cell], 1e-5*math.Abs(want), "sample %d", i)
					i++
				}
			}
		}
	}
}

// A trainer's name belongs to one model.
func TestCacheWords(t *testing.T) {
	model := map[[2]string]string{}
	for _, f := range families {
		for _, k := range f.caches {
			for _, word := range strings.Fields(k.trains) {
				key := [2]string{k.trainer, word}
				assert.Empty(t, model[key], "%v, of %s, too", key, k.model)
				model[key] = k.model
			}
			assert.Contains(t, []string{latent.ScalePipeline, latent.ScaleNone}, k.scale, k.trains)
		}
	}
	assert.Equal(t, "FLUX.1", model[[2]string{"musubi-tuner", "z_image"}])
}
