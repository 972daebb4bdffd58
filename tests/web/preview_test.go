package web

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/vae"
)

// drawn records what the canvas shows while a job runs.
const drawn = `(() => {
	window.drawn = [];
	const draw = CanvasRenderingContext2D.prototype.putImageData;
	CanvasRenderingContext2D.prototype.putImageData = function (image, ...at) {
		if (document.getElementById('stage').dataset.state === 'running') window.drawn.push([...image.data]);
		return draw.call(this, image, ...at);
	};
	return true;
})()`

// The page shows a tiny autoencoder's preview before the model's tiles replace it; one
// for other latents is refused by name.
func TestPreviewModel(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	checkpoint := wan(t, "wan.safetensors", synthetic.WanConfig{})
	tiny := func(name string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, synthetic.CreateTAEHV(path, synthetic.TAEHVConfig{Encoder: 8, Decoder: []int{16, 8, 8, 8}, DType: safetensors.F32}))
		return path
	}
	taew := tiny("taew2_1.safetensors")
	z, file := latentFile(t, "one.npy", 16, 1, 4, 4)
	frame := func(model string) []byte {
		m, err := vae.Open(gputest.Open(t), model, vae.Settings{Precision: vae.F32})
		require.NoError(t, err)
		for f, err := range m.Decode(t.Context(), z, vae.DecodeOptions{RGBA8: true}) {
			require.NoError(t, err)
			return bytes.Clone(f.RGBA)
		}
		return nil
	}

	v := newVisit(t, "")
	v.open("?demo=2x6x6", "&tile=16&precision=f32")
	v.ready()
	v.takes(checkpoint)
	v.picks(file)
	v.ready()
	v.pick("preview-file", taew)
	v.ready()
	eval[bool](t, v.tab, drawn)
	v.run()
	want, at := frame(taew), -1
	pictures := eval[[][]int](t, v.tab, `drawn`)
	for i, picture := range pictures {
		got := make([]byte, len(picture))
		for k, x := range picture {
			got[k] = byte(x)
		}
		if most, count, err := differ(got, want); err == nil && most <= 1 && count <= len(want)/100 {
			at = i
			break
		}
	}
	assert.GreaterOrEqual(t, at, 0, "no picture is the tiny model's")
	for _, picture := range pictures[:max(at, 0)] {
		assert.Zero(t, slices.Max(picture), "a picture before the preview that isn't blank")
	}
	assert.Greater(t, len(pictures), at+1, "pictures after the preview")
	v.sees([][]byte{frame(checkpoint)})

	v.pick("preview-file", tiny("taehv.safetensors"))
	v.ready()
	v.click("#run")
	v.ended("stopped", time.Minute)
	assert.Contains(t, v.text("notice-detail"), "taehv.safetensors is TAEHV for HunyuanVideo")
	assert.Contains(t, v.text("notice-detail"), "expected one for those of wan.safetensors: Wan 2.1")
}
