package web

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/latent"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/vae"
)

// latentPicture returns a latent of this many channels of 4x6 cells, and a file of it.
func latentPicture(t *testing.T, name string, channels int) (latent.Latent, string) {
	t.Helper()
	return latentFile(t, name, channels, 1, 4, 6)
}

// stableDiffusion creates a small AutoencoderKL checkpoint.
func stableDiffusion(t *testing.T, name string) string {
	t.Helper()
	return kl(t, name, synthetic.KLConfig{Quant: true})
}

// flux creates one with 16 channels whose name says which model it is.
func flux(t *testing.T) string {
	t.Helper()
	return kl(t, "flux_vae.safetensors", synthetic.KLConfig{Latent: 16})
}

// kl creates a small AutoencoderKL checkpoint.
func kl(t *testing.T, name string, c synthetic.KLConfig) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	c.Widths, c.DType = []int{32, 64, 96, 96}, safetensors.F32
	require.NoError(t, synthetic.CreateKL(path, c))
	return path
}

// taesd creates a small tiny autoencoder.
func taesd(t *testing.T, name string) string {
	t.Helper()
	path, widths := filepath.Join(t.TempDir(), name), []int{12, 12, 12, 12}
	require.NoError(t, synthetic.CreateTAESD(path, synthetic.TAESDConfig{Encoder: widths, Decoder: widths, DType: safetensors.F32}))
	return path
}

// other creates a checkpoint of no known model.
func other(t *testing.T, name string) string {
	t.Helper()
	var all []synthetic.Raw
	for _, tensor := range strings.Fields("a b c d e f g h i j") {
		all = append(all, synthetic.Raw{Spec: safetensors.Spec{Name: tensor + ".weight", DType: safetensors.F32, Shape: []int{1}}, Data: make([]byte, 4)})
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, synthetic.Create(path, all, nil))
	return path
}

// fetches counts the requests for a file.
func fetches(t *testing.T, log, part string) int {
	t.Helper()
	data, err := os.ReadFile(log)
	require.NoError(t, err)
	return strings.Count(string(data), part)
}

// TestLargerEngine: a visit loads the engine of the usual families. A checkpoint that
// this engine doesn't know loads the one of all families, once, and the browser stores
// that for use without the host.
func TestLargerEngine(t *testing.T) {
	t.Parallel()
	url, log, stop := host(t, built(t), "")
	v := newVisitAt(t, url+"#")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	short := testenv.Short(t) // skip offline use
	if !short {
		v.isKept()
		v.again() // from now on the service worker serves the page
		v.ready()
	}
	assert.Positive(t, fetches(t, log, "/tessera.wasm.gz"))
	assert.Zero(t, fetches(t, log, "/tessera-all"), "before anybody needs it")

	sd := stableDiffusion(t, "photo.safetensors")
	v.takes(sd)
	assert.Equal(t, 1, fetches(t, log, "/tessera-all"))
	assert.Regexp(t, "^Stable Diffusion · ", v.text("model-facts"))
	z, file := latentPicture(t, "photo.npy", 4)
	v.picks(file)
	v.ready()

	v.run()
	v.sees(decodedBy(t, sd, z, smallTiles))

	tiny := taesd(t, "taesd.safetensors")
	v.takes(tiny)
	v.run()
	v.sees(decodedBy(t, tiny, z, smallTiles))
	assert.Equal(t, 1, fetches(t, log, "/tessera-all"), "it was there already")
	if short {
		return
	}
	stop()
	v.again()
	v.ready()
	v.takes(sd)
}

// TestNoModel: both engines try an unknown checkpoint, once each, and the page shows
// the full engine's message. The previous checkpoint stays, and so does its engine.
func TestNoModel(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	url, log, _ := host(t, built(t), "")
	v := newVisitAt(t, url+"#")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	v.pick("model-file", other(t, "other.safetensors"))
	assert.Equal(t, "bad_input", v.notice())
	assert.Contains(t, v.text("notice-title"), "other.safetensors: is not a VAE that tessera knows: ")
	assert.Equal(t, "`tessera models` lists the models that it reads", v.text("notice-text"))
	assert.NotContains(t, v.text("notice-title"), "a.weight", "names of tensors")
	assert.Contains(t, v.text("notice-detail"), "its tensors are a.weight, ")
	assert.Contains(t, v.text("notice-detail"), "CogVideoX", "what the whole engine expects")
	v.ready()
	assert.Equal(t, 1, fetches(t, log, "/tessera-all"))
	assert.Equal(t, 1, fetches(t, log, "/tessera.wasm.gz"), "the first engine goes on")
	assert.Equal(t, "tiny-seedvr2", v.text("model-name"))
	v.click("#demo")
	v.ended("done", 4*time.Minute)
	v.sees(decoded(t, demoPart(t), smallTiles))
	assert.Equal(t, 1, fetches(t, log, "/tessera-all"))
}

// TestLargerEngineMissing: if the engine of all families does not load, the page says
// so, and the checkpoint can be chosen again.
func TestLargerEngineMissing(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	dir := copied(t)
	engine := filepath.Join(dir, "tessera-all.wasm.gz")
	require.NoError(t, os.Rename(engine, engine+".away"))
	url, _, _ := host(t, dir, "")
	v := newVisitAt(t, url+"#")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	sd := stableDiffusion(t, "photo.safetensors")
	v.pick("model-file", sd)
	assert.Equal(t, "This checkpoint needs a larger engine, which did not load", v.problem())
	assert.Contains(t, v.text("notice-detail"), "tessera-all.wasm.gz: 404")
	v.ready()
	assert.Equal(t, "tiny-seedvr2", v.text("model-name"))
	require.NoError(t, os.Rename(engine+".away", engine))
	v.takes(sd)
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('notice').hidden`))
}

// TestJobsBesideLargerEngine: loading the larger engine does not change a running job,
// and a job requested meanwhile uses the new checkpoint.
func TestJobsBesideLargerEngine(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	sd := stableDiffusion(t, "photo.safetensors")
	dir := copied(t)
	z, file := ramp(t, "ramp.npy")
	p, photo := latentPicture(t, "photo.npy", 4)
	for _, path := range []string{sd, file, photo} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o666))
	}
	url, _, _ := host(t, dir, "")
	v := newVisitAt(t, url+"#")
	v.open("", "")
	v.recording()
	got := eval[struct{ Clip, Photo, Cancelled []string }](t, v.tab, `(async () => {
		const { connect } = await import('./engine.js');
		const engine = await connect('browser');
		const gather = async (job) => {
			const frames = [];
			for await (const e of job) if (e.type === 'frame') frames.push(btoa(Array.from(e.rgba, (x) => String.fromCharCode(x)).join('')));
			return frames;
		};
		await engine.open('tiny-seedvr2.safetensors', { precision: 'f32' });
		const clip = gather(engine.decode('ramp.npy', { tile: 'off', overlap: '0' }));
		const stop = new AbortController();
		const opening = engine.open('photo.safetensors', { precision: 'f32', larger: () => {
			stop.abort();
			photo = gather(engine.decode('photo.npy', { tile: 'off', overlap: '0' }));
			never = gather(engine.decode('photo.npy', { signal: stop.signal })).catch((e) => [e.code]);
		} });
		let photo, never;
		const model = await opening;
		const found = { Clip: await clip, Photo: await photo, Cancelled: [model.family, ...await never] };
		engine.close();
		return found;
	})()`)
	assert.Equal(t, []string{"kl", "cancelled"}, got.Cancelled)
	near(t, got.Clip, decoded(t, z, vae.Options{}))
	near(t, got.Photo, decodedBy(t, sd, p, vae.Options{}))
}

// near compares frames in base64 with this machine's, like visit.sees.
func near(t *testing.T, got []string, want [][]byte) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		pixels, err := base64.StdEncoding.DecodeString(got[i])
		require.NoError(t, err)
		alike(t, i, pixels, w)
	}
}
