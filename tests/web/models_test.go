package web

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
	"tessera/media"
	"tessera/tests/testenv"
)

// TestWhichModel: for a checkpoint that can be several models, the page and the job
// name the assumed one. The chosen one decodes with its own scale, also from links, and
// does not apply to other checkpoints.
func TestWhichModel(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := newVisit(t, "")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	field := `document.querySelector('#settings [name=as]')`
	assert.True(t, eval[bool](t, v.tab, field+`.parentElement.hidden`), "SeedVR2's is one alone")
	sd := stableDiffusion(t, "thing.safetensors")
	v.takes(sd)
	assert.Equal(t, "Warning: the file does not say which model it is. Assuming Stable Diffusion; others have the same tensors and another latent scale. Choose in the setting “Model”.", v.text("model-assumed"))
	assert.Regexp(t, "^Stable Diffusion · ", v.text("model-facts"))
	assert.Equal(t, []string{"Automatic", "Stable Diffusion", "SDXL", "Playground 2.5"}, eval[[]string](t, v.tab, `[...`+field+`.options].filter((o) => !o.disabled).map((o) => o.text)`))
	v.accessible("a model that is assumed", axe(t))
	z, file := latentPicture(t, "photo.npy", 4)
	v.picks(file)
	v.ready()
	v.run()
	v.sees(decodedBy(t, sd, z, smallTiles))
	assert.Equal(t, "warning", v.notice())
	assert.Equal(t, "thing.safetensors: the file does not say which model it is. Assuming Stable Diffusion; SDXL and Playground 2.5 have the same tensors and another latent scale.", v.text("notice-title"), "without a flag of the command line")

	v.set("as", "sdxl")
	v.ready()
	assert.Empty(t, v.text("model-assumed"))
	assert.Regexp(t, "^SDXL · ", v.text("model-facts"))
	assert.Contains(t, eval[string](t, v.tab, `location.hash`), "as=sdxl")
	v.run()
	xl := smallTiles
	xl.As = "sdxl"
	v.sees(decodedBy(t, sd, z, xl))
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('notice').hidden`), "a model that was chosen is doubted")

	// Another checkpoint is shown even though the latent on the bench doesn't match it.
	v.pick("model-file", flux(t))
	v.named("model-name", "flux_vae")
	assert.Equal(t, "wrong_model", v.notice())
	assert.Regexp(t, "^FLUX.1 · ", v.text("model-facts"), "SDXL was chosen for another checkpoint")
	assert.Empty(t, v.text("input-facts"), "of a latent that was not read")
	other := latent.Latent{Channels: 16, Frames: 1, Height: 4, Width: 6, Data: make([]float32, 16*4*6), Meta: map[string]string{
		latent.MetaFamily: "kl", latent.MetaModel: "Stable Diffusion 3", latent.MetaScale: latent.ScalePipeline,
	}}
	path := filepath.Join(t.TempDir(), "three.safetensors")
	require.NoError(t, media.WriteLatent(path, other))
	v.picks(path)
	assert.Equal(t, "wrong_model", v.notice(), "a latent of Stable Diffusion 3 by FLUX.1")
	v.set("as", "sd3")
	v.ready()
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('notice').hidden`), "the model that the latent is of was chosen")
}

// tokens packs a latent's squares of 2x2 cells like FLUX.1's pipelines, [1,N,4C]: for
// each channel the first cell's number, then its neighbours' on the right, below and
// diagonally.
func tokens(t *testing.T, z latent.Latent) string {
	t.Helper()
	rows, columns := z.Height/2, z.Width/2
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (1, %d, %d), }", rows*columns, 4*z.Channels)
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	data := append([]byte("\x93NUMPY\x01\x00\x76\x00"), text...)
	for y := range rows {
		for x := range columns {
			for c := range z.Channels {
				for i := range 4 {
					cell := z.Data[(c*z.Height+2*y+i/2)*z.Width+2*x+i%2]
					data = binary.LittleEndian.AppendUint32(data, math.Float32bits(cell))
				}
			}
		}
	}
	path := filepath.Join(t.TempDir(), "tokens.npy")
	require.NoError(t, os.WriteFile(path, data, 0o666))
	return path
}

// TestPackedLatent: a latent of packed tokens is accepted without its size, which the
// page asks for. With the size it decodes like the latent that it was packed from.
func TestPackedLatent(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := newVisit(t, "")
	v.open("?demo=2x6x6", smallPart)
	v.ready()
	checkpoint := flux(t)
	v.takes(checkpoint)
	z, file := latentPicture(t, "photo.npy", 16)
	v.picks(tokens(t, z))
	assert.Equal(t, "packed_size", v.notice())
	assert.Equal(t, "The size under “Packed latent” does not suit tokens.npy", v.text("notice-title"))
	assert.Contains(t, v.text("notice-detail"), "packed latents have shape [1 6 64]")
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('run').disabled`))
	assert.Equal(t, eval[float64](t, v.tab, `document.querySelector('#settings select[name=frames]').offsetHeight`),
		eval[float64](t, v.tab, `document.querySelector('#settings input[name=packed]').offsetHeight`), "the field is as high as those beside it")
	v.accessible("a latent without its size", axe(t))

	v.set("packed", "64x64") // another number of squares
	v.wait("the engine's words", time.Minute, `document.getElementById('notice-detail').textContent.includes('8x8 cells have 16')`)
	assert.Equal(t, "packed_size", v.notice())
	v.set("packed", "48x32")
	v.ready()
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('notice').hidden`))
	assert.Equal(t, "latent, picture of 48 × 32 pixels", v.text("input-facts"))
	assert.Contains(t, eval[string](t, v.tab, `location.hash`), "packed=48x32")
	v.run()
	v.sees(decodedBy(t, checkpoint, z, smallTiles))

	v.picks(file) // it is not packed
	assert.Equal(t, "packed_size", v.notice())
	v.set("packed", "")
	v.ready()
	assert.Equal(t, "latent, picture of 48 × 32 pixels", v.text("input-facts"))
}

// TestLatentDimensions: a latent with an ambiguous shape is read as pictures, with a
// warning, and as a clip if the page's setting says that frames come first.
func TestLatentDimensions(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	v := small(t)
	text := "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 16, 2, 3), }"
	text += strings.Repeat(" ", 117-len(text)) + "\n"
	path := filepath.Join(t.TempDir(), "frames.npy")
	data := append([]byte("\x93NUMPY\x01\x00\x76\x00"), text...)
	for i := range 3 * 16 * 2 * 3 {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(2*math.Sin(float64(i)))))
	}
	require.NoError(t, os.WriteFile(path, data, 0o666))
	v.picks(path)
	assert.Equal(t, "latent, 3 pictures of 24 × 16 pixels", v.text("input-facts"))
	v.run()
	assert.Equal(t, "warning", v.notice())
	assert.Equal(t, "frames.npy: shape [3 16 2 3] is read as BCHW, 3 pictures, but could be FCHW: choose under “Latent dimensions”", v.text("notice-title"))
	v.set("layout", "FCHW")
	v.ready()
	assert.Equal(t, "latent, 9 frames of 24 × 16 pixels", v.text("input-facts"))
	assert.Contains(t, eval[string](t, v.tab, `location.hash`), "layout=FCHW")
	v.run()
	assert.True(t, eval[bool](t, v.tab, `document.getElementById('notice').hidden`), "what was chosen is doubted")
}
