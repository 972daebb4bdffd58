package job

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

// wan21 and qwen are a model of clips and one of pictures, seedvr2 one whose
// ComfyUI files hold a pipeline's numbers.
var (
	wan21   = vae.Config{Family: "wan2.1", Model: "Wan 2.1", File: "wan.pth", Print: "1", Latent: 16, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, ComfyUIUnscaled: true}
	qwen    = vae.Config{Family: "wan2.1", Model: "Qwen-Image", File: "qwen.safetensors", Print: "2", Latent: 16, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1, ComfyUIUnscaled: true, Independent: true}
	wan22   = vae.Config{Family: "wan2.2", Model: "Wan 2.2", File: "wan22.pth", Print: "4", Latent: 16, Spatial: 16, Temporal: 4, Channels: 3, Patch: 2, ComfyUIUnscaled: true}
	flux1   = vae.Config{Family: "kl", Model: "FLUX.1", File: "ae.safetensors", Print: "5", Latent: 16, Widths: make([]int, 4), Spatial: 8, Temporal: 1, Channels: 3, Patch: 1, ComfyUIUnscaled: true, Independent: true}
	seedvr2 = vae.Config{Family: "seedvr2", Model: "SeedVR2", File: "ema.pth", Print: "3", Latent: 16, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1}
)

var yes, no = true, false

// The defaults of tiles and memory are here, for all users of the package.
func TestOptions(t *testing.T) {
	square := func(n int) *tiling.Choice { return &tiling.Choice{Tile: tiling.Square(n)} }
	small := tiling.Square(32)
	for name, c := range map[string]struct {
		want Choices
		is   vae.Options
	}{
		"nothing":                 {Choices{}, vae.Options{Chunk: vae.AutoChunk, Tile: *square(512), Overlap: tiling.Square(64), Shrink: true}},
		"exact":                   {Choices{Tiling: vae.Exact}, vae.Options{Chunk: vae.AutoChunk, Tiling: vae.Exact, Tile: *square(512), Overlap: tiling.Square(64), Shrink: true}},
		"diffusers":               {Choices{Tiling: vae.Diffusers}, vae.Options{Chunk: vae.AutoChunk, Tiling: vae.Diffusers, Tile: *square(256), Overlap: tiling.Square(64)}},
		"diffusers and own tile":  {Choices{Tiling: vae.Diffusers, Tile: square(384), Overlap: &small}, vae.Options{Chunk: vae.AutoChunk, Tiling: vae.Diffusers, Tile: *square(384), Overlap: small}},
		"a tile":                  {Choices{Tile: square(384)}, vae.Options{Chunk: vae.AutoChunk, Tile: *square(384), Overlap: tiling.Square(64)}},
		"one tile":                {Choices{Tile: &tiling.Choice{}}, vae.Options{Chunk: vae.AutoChunk, Overlap: tiling.Square(64)}},
		"a tile that may shrink":  {Choices{Tile: square(384), Shrink: &yes}, vae.Options{Chunk: vae.AutoChunk, Tile: *square(384), Overlap: tiling.Square(64), Shrink: true}},
		"the default may not":     {Choices{Shrink: &no}, vae.Options{Chunk: vae.AutoChunk, Tile: *square(512), Overlap: tiling.Square(64)}},
		"a budget and long parts": {Choices{Tile: square(384), Budget: 5, Chunk: 2}, vae.Options{Tile: *square(384), Overlap: tiling.Square(64), Budget: 5, Chunk: 2}},
	} {
		got, err := c.want.Options()
		require.NoError(t, err, name)
		assert.Equal(t, c.is, got, name)
	}
}

// Each choice that a run has as an option, too, reaches it.
func TestChoicesReachTheRun(t *testing.T) {
	base, err := Choices{}.Options()
	require.NoError(t, err)
	overlap := tiling.Square(32)
	chosen := map[string]Choices{
		"Tile": {Tile: &tiling.Choice{Tile: tiling.Square(128)}}, "Overlap": {Overlap: &overlap}, "Tiling": {Tiling: vae.Feather}, "Shrink": {Shrink: &no},
		"Budget": {Budget: 1}, "Host": {Host: 1}, "Chunk": {Chunk: 3}, "MemoryFormat": {MemoryFormat: vae.MemoryI8}, "Offload": {Offload: vae.OffloadOn}, "As": {As: "flux.1"},
	}
	for f := range reflect.TypeFor[vae.Options]().Fields() {
		if _, there := reflect.TypeFor[Choices]().FieldByName(f.Name); !there || f.Name == "Independent" { // which Decode and Encode set
			continue
		}
		require.Contains(t, chosen, f.Name, "a choice without a case")
		o, err := chosen[f.Name].Options()
		require.NoError(t, err)
		assert.NotEqual(t, reflect.ValueOf(base).FieldByName(f.Name).Interface(), reflect.ValueOf(o).FieldByName(f.Name).Interface(), f.Name)
	}
}

// The overlap of a small tile is at most half of it, so that fades do not meet, and
// always valid; a requested overlap stays.
func TestOverlapOfSmallTiles(t *testing.T) {
	for side, want := range map[int]int{8: 0, 15: 0, 16: 8, 31: 8, 32: 16, 48: 16, 64: 32, 96: 48, 127: 48, 128: 64, 512: 64} {
		o, err := Choices{Tile: &tiling.Choice{Tile: tiling.Size{H: side, W: 4 * side}}}.Options()
		require.NoError(t, err)
		require.Equal(t, tiling.Size{H: want, W: overlapOf(4*side, 64)}, o.Overlap, "tile %d", side)
	}
	for side := 16; side < 300; side++ {
		o, err := Choices{Tile: &tiling.Choice{Tile: tiling.Square(side)}}.Options()
		require.NoError(t, err)
		require.LessOrEqual(t, 2*o.Overlap.H, side)
		for _, factor := range []int{8, 16} {
			if side >= 2*factor {
				_, err = tiling.Decode(90, 90, tiling.Options{Tile: o.Tile.Tile, Overlap: o.Overlap, Factor: factor})
				require.NoError(t, err, "tile %d, cells of %d", side, factor)
			}
		}
	}
	given := tiling.Square(24)
	o, err := Choices{Tile: &tiling.Choice{Tile: tiling.Square(32)}, Overlap: &given}.Options()
	require.NoError(t, err)
	require.Equal(t, given, o.Overlap)
}

func TestBadChoices(t *testing.T) {
	for says, want := range map[string]Choices{
		`tiling "mosaic", expected feather, exact or diffusers`: {Tiling: "mosaic"},
		`scale "half", expected pipeline or none`:               {Scale: "half"},
	} {
		_, err := want.Options()
		require.ErrorContains(t, err, says)
		require.ErrorIs(t, err, ErrInput)
		_, err = Decode(wan21, latent.Latent{}, "z", want)
		require.ErrorContains(t, err, says)
		_, err = Encode(wan21, media.Format{}, "z", want)
		require.ErrorContains(t, err, says)
	}
}

// Frames are pictures as the user says, else as the file says, else, if tessera did not
// write it, as the model's default says.
func TestIndependent(t *testing.T) {
	ours := map[string]string{latent.MetaScale: latent.ScalePipeline}
	pictures := map[string]string{latent.MetaScale: latent.ScalePipeline, latent.MetaImages: "true"}
	for name, c := range map[string]struct {
		model vae.Config
		z     latent.Latent
		want  *bool
		is    bool
	}{
		"a clip's model":                      {wan21, latent.Latent{}, nil, false},
		"as pictures":                         {wan21, latent.Latent{}, &yes, true},
		"a file of pictures":                  {wan21, latent.Latent{Meta: pictures}, nil, true},
		"as a clip all the same":              {wan21, latent.Latent{Meta: pictures}, &no, false},
		"a batch":                             {wan21, latent.Latent{Images: true}, nil, true},
		"a model of pictures":                 {qwen, latent.Latent{}, nil, true},
		"its latents as a clip":               {qwen, latent.Latent{}, &no, false},
		"an encoded clip":                     {qwen, latent.Latent{Meta: ours}, nil, false},
		"an encoded clip as pictures":         {qwen, latent.Latent{Meta: ours}, &yes, true},
		"a batch for the model of pictures":   {qwen, latent.Latent{Images: true}, nil, true},
		"a file of pictures, and their model": {qwen, latent.Latent{Meta: pictures}, nil, true},
	} {
		c.z.Channels, c.z.Frames, c.z.Height, c.z.Width = 16, 3, 2, 3
		d, err := Decode(c.model, c.z, name, Choices{Independent: c.want})
		require.NoError(t, err, name)
		frames := 9
		if c.is {
			frames = 3
		}
		assert.Equal(t, c.is, d.Options.Independent, name)
		assert.Equal(t, media.Format{Frames: frames, Height: 16, Width: 24, Channels: 3}, d.Clip, name)
		assert.Equal(t, frames, d.Whole, name)
		assert.Empty(t, d.Warnings, name)
	}
}

// The file's description of the clip applies, unless it is for the other kind of frames.
func TestClip(t *testing.T) {
	was := latent.Original{Frames: 7, Height: 15, Width: 20, FPS: latent.Rational{Num: 25, Den: 1}, Scale: latent.ScaleNone}
	z := latent.Latent{Channels: 16, Frames: 3, Height: 2, Width: 3, Meta: was.Meta(latent.KindLatent)}
	d, err := Decode(wan21, z, "z", Choices{})
	require.NoError(t, err)
	require.Equal(t, media.Format{Frames: 7, Height: 15, Width: 20, Channels: 3, FPS: was.FPS}, d.Clip)
	require.Equal(t, 9, d.Whole)
	o := d.Options
	require.Equal(t, []int{7, 15, 20}, []int{o.Frames, o.Height, o.Width})
	require.True(t, o.Unscaled)

	d, err = Decode(wan21, z, "z", Choices{Independent: &yes, FPS: latent.Rational{Num: 12, Den: 1}})
	require.NoError(t, err)
	require.Equal(t, media.Format{Frames: 3, Height: 15, Width: 20, Channels: 3, FPS: latent.Rational{Num: 12, Den: 1}}, d.Clip)

	enlarging := wan21
	enlarging.Upscale = 2
	d, err = Decode(enlarging, z, "z", Choices{})
	require.NoError(t, err)
	require.Equal(t, media.Format{Frames: 7, Height: 30, Width: 40, Channels: 3, FPS: was.FPS}, d.Clip)
	d, err = Decode(enlarging, latent.Latent{Channels: 16, Frames: 3, Height: 2, Width: 3}, "z", Choices{})
	require.NoError(t, err)
	require.Equal(t, []int{9, 32, 48}, []int{d.Clip.Frames, d.Clip.Height, d.Clip.Width})

	z.Meta[latent.MetaFrames] = "90"
	d, err = Decode(wan21, z, "z.npy", Choices{})
	require.NoError(t, err)
	require.Equal(t, 9, d.Clip.Frames)
	require.Equal(t, []string{"z.npy: metadata says 90 frames, the latent has 9: the metadata is ignored"}, d.Warnings)

	z.Meta[latent.MetaKind] = latent.KindMoments
	_, err = Decode(wan21, z, "z.npy", Choices{})
	require.ErrorIs(t, err, media.ErrInput)
	require.EqualError(t, err, "media: z.npy: holds moments, expected a latent")
}

// The scale of a latent's numbers is the user's, else its file's, else that of the
// program that wrote it.
func TestScale(t *testing.T) {
	meta := func(scale string) map[string]string { return map[string]string{latent.MetaScale: scale} }
	for name, c := range map[string]struct {
		model    vae.Config
		z        latent.Latent
		want, is string
		note     string
		warning  string
	}{
		"nothing is known":      {wan21, latent.Latent{}, "", "pipeline", "", ""},
		"asked for":             {wan21, latent.Latent{}, "none", "none", "", ""},
		"told":                  {wan21, latent.Latent{Meta: meta("none")}, "", "none", "", ""},
		"told and asked for":    {wan21, latent.Latent{Meta: meta("none")}, "none", "none", "", ""},
		"overruled":             {wan21, latent.Latent{Meta: meta("none")}, "pipeline", "pipeline", "", "z: written with --scale none, decoding with --scale pipeline as requested"},
		"ComfyUI's Wan":         {wan21, latent.Latent{ComfyUI: true}, "", "none", "z: by ComfyUI, so it is unscaled (--scale none)", ""},
		"ComfyUI's, asked for":  {wan21, latent.Latent{ComfyUI: true}, "none", "none", "", ""},
		"ComfyUI's, overruled":  {wan21, latent.Latent{ComfyUI: true}, "pipeline", "pipeline", "", ""},
		"ComfyUI's SeedVR2":     {seedvr2, latent.Latent{ComfyUI: true}, "", "pipeline", "", ""},
		"in ComfyUI's, by us":   {wan21, latent.Latent{ComfyUI: true, Meta: meta("pipeline")}, "", "pipeline", "", ""},
		"OneTrainer's":          {qwen, latent.Latent{Trainer: &latent.Trainer{Name: "OneTrainer", Unscaled: true}}, "", "none", "z: by OneTrainer, so it is unscaled (--scale none)", ""},
		"OneTrainer's, as said": {qwen, latent.Latent{Trainer: &latent.Trainer{Name: "OneTrainer", Unscaled: true}}, "pipeline", "pipeline", "", ""},
		"sd-scripts'":           {qwen, latent.Latent{Trainer: &latent.Trainer{Name: "sd-scripts"}}, "", "pipeline", "", ""},
		"Qwen-Image by ComfyUI": {qwen, latent.Latent{ComfyUI: true}, "", "none", "z: by ComfyUI, so it is unscaled (--scale none)", ""},
	} {
		c.z.Channels, c.z.Frames, c.z.Height, c.z.Width = 16, 1, 1, 1
		d, err := Decode(c.model, c.z, "z", Choices{Scale: c.want})
		require.NoError(t, err, name)
		assert.Equal(t, c.is, d.Scale, name)
		assert.Equal(t, c.is == "none", d.Options.Unscaled, name)
		assert.Equal(t, texts(c.note), d.Notes, name)
		assert.Equal(t, texts(c.warning), d.Warnings, name)
	}
}

// A latent knows the model that made it: another file of that model causes a note,
// another model a warning, and another family is refused if its statistics scaled the
// latent.
func TestMadeBy(t *testing.T) {
	renamed, old := wan21, wan21
	renamed.File, renamed.Model, renamed.Independent = "qwen?.pth", "Qwen-Image", true
	old.Print, old.File = "4", "wan.safetensors"
	own, others := wan21, wan21
	own.Beside, own.Mean, own.Scale = "vae/config.json", []float64{1}, []float64{2}
	others.Beside, others.Mean, others.Scale = "vae/config.json", []float64{1}, []float64{3}
	wider := vae.Config{Family: "wan2.2", Model: "Wan 2.2", Latent: 16, Spatial: 16, Temporal: 4, Channels: 3, Patch: 2}
	const pipeline, none = latent.ScalePipeline, latent.ScaleNone
	for name, c := range map[string]struct {
		made, with           vae.Config
		scale, asked         string
		note, warning, error string
	}{
		"the same":                 {made: wan21, with: wan21, scale: pipeline},
		"the same by another name": {made: wan21, with: renamed, scale: pipeline},
		"another file":             {made: wan21, with: old, scale: pipeline, note: `z: a latent of "Wan 2.1" ("wan.pth"), decoding with "Wan 2.1" ("wan.safetensors"), another file of that model`},
		"another model":            {made: qwen, with: wan21, scale: pipeline, warning: `z: a latent of "Qwen-Image" ("qwen.safetensors"), decoding with "Wan 2.1" ("wan.pth"), which has other weights`},
		"another family, unscaled": {made: seedvr2, with: wan21, scale: none, warning: `z: a latent of "SeedVR2" ("ema.pth"), decoding with "Wan 2.1" ("wan.pth"), whose latents differ`},
		"another family":           {made: seedvr2, with: wan21, scale: pipeline, error: `job: z: a latent of "SeedVR2" ("ema.pth"), decoding with "Wan 2.1" ("wan.pth"); its scaling statistics differ; pass --scale to override`},
		"another family, as asked": {made: wider, with: seedvr2, scale: pipeline, asked: pipeline, warning: `z: a latent of "Wan 2.2", decoding with "SeedVR2" ("ema.pth"), whose latents differ`},
		"own statistics":           {made: own, with: own, scale: pipeline},
		"statistics are lost":      {made: own, with: wan21, scale: pipeline, error: `job: z: a latent of "Wan 2.1" ("wan.pth"), decoding with "Wan 2.1" ("wan.pth"), which uses other statistics: the published ones; pass --scale to override`},
		"statistics have come":     {made: wan21, with: own, scale: pipeline, error: `job: z: a latent of "Wan 2.1" ("wan.pth"), decoding with "Wan 2.1" ("wan.pth"), which uses other statistics: those in vae/config.json; pass --scale to override`},
		"statistics are others":    {made: others, with: own, scale: pipeline, asked: pipeline, warning: `z: a latent of "Wan 2.1" ("wan.pth"), decoding with "Wan 2.1" ("wan.pth"), which uses other statistics: those in vae/config.json`},
		"statistics, unscaled":     {made: own, with: wan21, scale: none},
		"no model is known":        {made: wan21, with: vae.Usual(), scale: pipeline},
		"nothing is kept":          {with: wan21, scale: pipeline},
	} {
		was := latent.Original{Scale: c.scale, Checkpoint: c.made.Checkpoint()}
		z := latent.Latent{Channels: 16, Frames: 1, Height: 2, Width: 2, Meta: was.Meta(latent.KindLatent)}
		d, err := Decode(c.with, z, "z", Choices{Scale: c.asked})
		if c.error != "" {
			assert.EqualError(t, err, c.error, name)
			assert.ErrorIs(t, err, ErrInput, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, texts(c.note), d.Notes, name)
		assert.Equal(t, texts(c.warning), d.Warnings, name)
	}
}

// Moments decode to their mean, or to a sample as encoding draws it, with a note.
func TestMoments(t *testing.T) {
	meta := latent.Original{Frames: 5, Scale: latent.ScaleNone, Checkpoint: wan21.Checkpoint()}.Meta(latent.KindMoments)
	z := latent.Latent{Channels: 32, Frames: 2, Height: 1, Width: 1, Moments: true, Meta: meta, Data: make([]float32, 64)}
	for i := range 32 {
		z.Data[i], z.Data[32+i] = float32(i), -100
	}
	d, err := Decode(wan21, z, "z", Choices{})
	require.NoError(t, err)
	require.Equal(t, []int{16, 2, 1, 1}, d.Latent.Shape())
	require.Equal(t, z.Data[:32], d.Latent.Data)
	require.True(t, d.Options.Unscaled)
	require.Equal(t, 5, d.Clip.Frames)
	require.Equal(t, []string{"z: holds moments: decoding their mean"}, d.Notes)
	require.Empty(t, d.Warnings)
	d, err = Decode(wan21, z, "z", Choices{Sample: true})
	require.NoError(t, err)
	require.Equal(t, []string{"z: holds moments: decoding a sample of them"}, d.Notes)
	for i, v := range d.Latent.Data {
		require.InDelta(t, i, v, 1e-5, "a deviation of e^-15: value %d", i)
	}
	_, err = Decode(wan21, z, "z", Choices{Scale: latent.ScalePipeline})
	require.EqualError(t, err, "job: z: holds moments, which are unscaled, expected --scale none")
	z.Meta = nil
	d, err = Decode(wan21, z, "z", Choices{Scale: latent.ScaleNone})
	require.NoError(t, err)
	require.Equal(t, []string{"z: holds moments: decoding their mean"}, d.Notes)
	z.Channels, z.Moments = 16, false
	_, err = Decode(wan21, z, "z", Choices{Sample: true})
	require.ErrorIs(t, err, ErrInput)
	require.EqualError(t, err, "job: z: holds a latent, expected moments to draw a sample from")
}

// A reader's assumptions are reported, unless frames and pictures are equivalent.
func TestGuesses(t *testing.T) {
	z := latent.Latent{Channels: 16, Frames: 3, Height: 1, Width: 1, Notes: []string{"is read as BCHW"}, Data: make([]float32, 48)}
	for _, images := range []bool{false, true} {
		z.Images = images
		for _, c := range []vae.Config{wan21, qwen, seedvr2} {
			d, err := Decode(c, z, "z", Choices{})
			require.NoError(t, err)
			want := []string{"z: is read as BCHW"}
			if images && c.Independent {
				want = nil
			}
			assert.Equal(t, want, d.Guesses, "%s, pictures: %v", c.Model, images)
		}
	}
}

// A trainer's cache names its model: another family is refused, another model of the
// family causes a warning. The model also decides whether the trainer scales before or
// after caching.
func TestCachesOfOthers(t *testing.T) {
	const musubi, ai, sd = "musubi-tuner", "ai-toolkit", "sd-scripts"
	const warns = true
	const pipeline, none = latent.ScalePipeline, latent.ScaleNone
	as := func(c vae.Config, family, model string, channels int) vae.Config {
		c.Family, c.Model, c.Latent = family, model, channels
		return c
	}
	sd1, sdxl, sd3 := as(flux1, "kl", "Stable Diffusion", 4), as(flux1, "kl", "SDXL", 4), as(flux1, "kl", "Stable Diffusion 3", 16)
	flux2, hunyuanImage := as(flux1, "flux2", "FLUX.2", 32), as(flux1, "hunyuanimage2.1", "HunyuanImage 2.1", 64)
	hunyuan, hunyuan15 := as(wan21, "hunyuanvideo", "HunyuanVideo", 16), as(wan21, "hunyuanvideo1.5", "HunyuanVideo 1.5", 32)
	ltx2, ltx23 := as(wan21, "ltx2", "LTX-2", 128), as(wan21, "ltx2", "LTX-2.3", 128)
	taesdxl := as(flux1, "taesd", "TAESDXL", 4)
	flux2.Packed = true
	other := func(trainer, word, made, model string) string {
		return fmt.Sprintf("job: z: is a cache of %s for %q with latents of %s, expected %s", trainer, word, made, model)
	}
	for _, c := range []struct {
		trainer, word string
		model         vae.Config
		scale, error  string
		warns         bool
	}{
		{musubi, "wan", wan21, pipeline, "", false},
		{musubi, "wan", qwen, pipeline, "", warns},
		{musubi, "qwen_image", qwen, pipeline, "", false},
		{musubi, "qwen_image_edit", qwen, pipeline, "", false},
		{musubi, "qwen_image", wan21, pipeline, "", warns},
		{musubi, "hunyuan_video", wan21, "", other(musubi, "hunyuan_video", "HunyuanVideo", "Wan 2.1"), false},
		{musubi, "z_image", qwen, "", other(musubi, "z_image", "FLUX.1", "Qwen-Image"), false},
		{musubi, "z_image", sdxl, "", other(musubi, "z_image", "FLUX.1", "SDXL"), false},
		{musubi, "z_image", sd3, "", other(musubi, "z_image", "FLUX.1", "Stable Diffusion 3"), false},
		{musubi, "wan", seedvr2, "", other(musubi, "wan", "Wan 2.1", "SeedVR2"), false},
		{musubi, "hidream_o1_image", seedvr2, "", `job: z: is a cache of musubi-tuner for "hidream_o1_image", expected none for SeedVR2`, false},
		{musubi, "hidream_o1_image", flux1, "", `job: z: is a cache of musubi-tuner for "hidream_o1_image", expected flux_kontext, z_image for FLUX.1`, false},
		{musubi, "flux_kontext", flux1, pipeline, "", false},
		{musubi, "z_image", flux1, none, "", false},
		{musubi, "flux_2_dev", flux2, pipeline, "", false},
		{musubi, "flux_2_klein_4b", flux2, pipeline, "", false},
		{musubi, "flux_2_klein_9b", flux2, pipeline, "", false},
		{musubi, "ideogram4", flux2, none, "", false},
		{musubi, "hunyuan_video", hunyuan, none, "", false},
		{musubi, "framepack", hunyuan, pipeline, "", false},
		{musubi, "kandinsky5", hunyuan, pipeline, "", false},
		{musubi, "hunyuan_video_1_5", hunyuan15, none, "", false},
		{musubi, "hunyuan_video_1_5", hunyuan, "", other(musubi, "hunyuan_video_1_5", "HunyuanVideo 1.5", "HunyuanVideo"), false},
		{ai, "wan21", wan21, pipeline, "", false},
		{ai, "wan21_i2v", wan21, pipeline, "", false},
		{ai, "wan22_14b", wan21, pipeline, "", false},
		{ai, "wan22_14b_i2v", wan21, pipeline, "", false},
		{ai, "qwen_image", qwen, pipeline, "", false},
		{ai, "qwen_image_edit_plus", qwen, pipeline, "", false},
		{ai, "nucleus_image", qwen, pipeline, "", false},
		{ai, "krea2", qwen, pipeline, "", false},
		{ai, "anima", qwen, pipeline, "", false},
		{ai, "anima", wan21, pipeline, "", warns},
		{ai, "wan22_5b", wan22, pipeline, "", false},
		{ai, "flux1", qwen, "", other(ai, "flux1", "FLUX.1", "Qwen-Image"), false},
		{ai, "wan22_5b", wan21, "", other(ai, "wan22_5b", "Wan 2.2", "Wan 2.1"), false},
		{ai, "wan21", wan22, "", other(ai, "wan21", "Wan 2.1", "Wan 2.2"), false},
		{ai, "hidream_o1", wan22, "", `job: z: is a cache of ai-toolkit for "hidream_o1", expected wan22_5b for Wan 2.2`, false},
		{ai, "ideogram4", flux2, "", `job: z: is a cache of ai-toolkit for "ideogram4", expected ernie_image, flux2, flux2_klein_4b, flux2_klein_9b for FLUX.2`, false},
		{ai, "sd15", sd1, pipeline, "", false},
		{ai, "sdxl", sdxl, pipeline, "", false},
		{ai, "sdxl", sd1, "", other(ai, "sdxl", "SDXL", "Stable Diffusion"), false},
		{ai, "sd3", sd3, pipeline, "", false},
		{ai, "flux1", flux1, pipeline, "", false},
		{ai, "zimage", flux1, pipeline, "", false},
		{ai, "chroma", flux1, pipeline, "", false},
		{ai, "flux2", flux2, pipeline, "", false},
		{ai, "ernie_image", flux2, pipeline, "", false},
		{ai, "ltx2_v2", ltx2, pipeline, "", false},
		{ai, "ltx2.3_v2", ltx23, pipeline, "", false},
		{ai, "ltx2.3_v2", ltx2, pipeline, "", warns},
		{ai, "ltx2.5_v2", ltx23, "", `job: z: is a cache of ai-toolkit for "ltx2.5_v2", expected ltx2, ltx2_v2, ltx2.3, ltx2.3_v2 for LTX-2.3`, false},
		{sd, "anima", qwen, pipeline, "", false},
		{sd, "flux", qwen, "", other(sd, "flux", "FLUX.1", "Qwen-Image"), false},
		{sd, "sd", sd1, none, "", false},
		{sd, "sdxl", sdxl, none, "", false},
		{sd, "sdxl", taesdxl, none, "", false},
		{sd, "sd", sdxl, "", other(sd, "sd", "Stable Diffusion", "SDXL"), false},
		{sd, "sd3", sd3, none, "", false},
		{sd, "flux", flux1, pipeline, "", false},
		{sd, "lumina", flux1, pipeline, "", false},
		{sd, "hi", hunyuanImage, none, "", false},
		{sd, "", qwen, pipeline, "", false}, // under another name
		{sd, "", sdxl, none, "", false},
		{sd, "", taesdxl, none, "", false},
		{sd, "", flux1, pipeline, "", false},
	} {
		z := latent.Latent{Channels: 16, Frames: 1, Height: 2, Width: 2, Data: make([]float32, 64), Trainer: &latent.Trainer{Name: c.trainer, Model: c.word}}
		z.Packed = c.model.Packed
		for _, scale := range []string{"", pipeline} {
			d, err := Decode(c.model, z, "z", Choices{Scale: scale})
			if c.error != "" {
				assert.ErrorIs(t, err, ErrInput)
				assert.EqualError(t, err, c.error)
				continue
			}
			require.NoError(t, err, "%s %s with %s", c.trainer, c.word, c.model.Model)
			assert.Equal(t, cmp.Or(scale, c.scale), d.Scale, "%s %s", c.trainer, c.word)
			said := slices.Contains(d.Notes, "z: by "+c.trainer+", so it is unscaled (--scale none)")
			assert.Equal(t, d.Scale == none, said, "%s %s: %v", c.trainer, c.word, d.Notes)
			assert.Equal(t, c.warns, len(d.Warnings) == 1 && strings.Contains(d.Warnings[0], ", which has other weights"), "%s with %s: %v", c.word, c.model.Model, d.Warnings)
		}
	}
	assumed := flux1
	assumed.Assumed = true
	d, err := Decode(assumed, latent.Latent{Channels: 16, Frames: 1, Height: 1, Width: 1, Data: make([]float32, 16), Trainer: &latent.Trainer{Name: sd, Model: "sd3"}}, "z", Choices{})
	require.NoError(t, err)
	assert.Equal(t, "sd3", d.Options.As, "the cache tells what the checkpoint doesn't")
	assert.Equal(t, none, d.Scale)
	z := latent.Latent{Channels: 16, Frames: 1, Height: 1, Width: 1, Data: make([]float32, 16), Trainer: &latent.Trainer{Name: musubi, Model: "mine"}}
	z.Meta = latent.Original{Scale: latent.ScalePipeline, Checkpoint: wan21.Checkpoint()}.Meta(latent.KindLatent)
	_, err = Decode(wan21, z, "z", Choices{})
	require.NoError(t, err, "ours, which says more")
}

// The model and the choices decide how a latent is read; packed latents have sides of
// whole squares.
func TestReading(t *testing.T) {
	folds := seedvr2
	folds.ComfyUIFolded = true
	o, err := Choices{Layout: "FCHW", Key: "k"}.Reading(folds)
	require.NoError(t, err)
	require.Equal(t, media.LatentOptions{Channels: 16, Folded: true, Layout: "FCHW", Key: "k"}, o)
	o, err = Choices{Packed: tiling.Size{H: 48, W: 64}}.Reading(qwen)
	require.NoError(t, err)
	require.Equal(t, media.LatentOptions{Channels: 16, Height: 6, Width: 8}, o)
	o, err = Choices{}.Reading(flux1)
	require.NoError(t, err)
	require.Equal(t, media.LatentOptions{Channels: 16, Pictures: true}, o)
	_, err = Choices{Packed: tiling.Size{H: 48, W: 72}}.Reading(qwen)
	require.ErrorIs(t, err, ErrInput)
	require.EqualError(t, err, "job: packed latents of 72x48 pixels, expected multiples of 16, the side of what is packed into one")
}

// texts returns a list of one text, or an empty one.
func texts(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func TestEncode(t *testing.T) {
	clip := media.Format{Frames: 7, Height: 15, Width: 24, Channels: 3, FPS: latent.Rational{Num: 24, Den: 1}}
	for name, c := range map[string]struct {
		model  vae.Config
		output string
		want   Choices
		scale  string
		frames int
		padded media.Format
	}{
		"a clip":                  {wan21, "z.safetensors", Choices{}, "pipeline", 3, media.Format{Frames: 9, Height: 16, Width: 24}},
		"for ComfyUI":             {wan21, "z.LATENT", Choices{}, "none", 3, media.Format{Frames: 9, Height: 16, Width: 24}},
		"for ComfyUI, as asked":   {wan21, "z.latent", Choices{Scale: "pipeline"}, "pipeline", 3, media.Format{Frames: 9, Height: 16, Width: 24}},
		"SeedVR2's for ComfyUI":   {seedvr2, "z.latent", Choices{}, "pipeline", 3, media.Format{Frames: 9, Height: 16, Width: 24}},
		"pictures":                {qwen, "z.safetensors", Choices{}, "pipeline", 7, media.Format{Frames: 7, Height: 16, Width: 24}},
		"a clip of a picture's":   {qwen, "z.safetensors", Choices{Independent: &no}, "pipeline", 3, media.Format{Frames: 9, Height: 16, Width: 24}},
		"moments":                 {wan21, "z.safetensors", Choices{Moments: true, Scale: "pipeline"}, "none", 3, media.Format{Frames: 9, Height: 16, Width: 24}},
		"a sample, for no format": {wan21, "", Choices{Sample: true, Seed: 7}, "pipeline", 3, media.Format{Frames: 9, Height: 16, Width: 24}},
	} {
		e, err := Encode(c.model, clip, c.output, c.want)
		require.NoError(t, err, name)
		c.padded.Channels, c.padded.FPS = 3, clip.FPS
		assert.Equal(t, clip, e.Clip, name)
		assert.Equal(t, c.padded, e.Padded, name)
		channels := 16
		if c.want.Moments {
			channels = 32
		}
		assert.Equal(t, latent.Latent{Channels: channels, Frames: c.frames, Height: 2, Width: 3}, e.Latent, name)
		assert.Equal(t, c.scale, e.Scale, name)
		assert.Equal(t, c.scale == "none", e.Options.Unscaled, name)
		assert.Equal(t, []any{c.want.Moments, c.want.Sample, c.want.Seed}, []any{e.Options.Moments, e.Options.Sample, e.Options.Seed}, name)
		assert.Empty(t, e.Forgotten, name)
		kind := latent.KindLatent
		if c.want.Moments {
			kind = latent.KindMoments
		}
		was := latent.Original{Frames: 7, Height: 15, Width: 24, FPS: clip.FPS, Scale: c.scale, Images: c.frames == 7, Checkpoint: c.model.Checkpoint()}
		assert.Equal(t, was.Meta(kind), e.Meta, name)

		z := e.Latent
		z.Meta = e.Meta
		back := e.Back(z)
		if c.want.Moments {
			continue
		}
		d, err := Decode(c.model, z, "z", Choices{})
		require.NoError(t, err, name)
		assert.Equal(t, d.Clip, back.Clip, name)
		assert.Equal(t, d.Options, back.Options, name)
		assert.Equal(t, d.Whole, back.Whole, name)
	}
}

// Frames of different sizes cannot be compared.
func TestComparable(t *testing.T) {
	require.NoError(t, Comparable(wan21))
	c := wan21
	c.Upscale, c.File = 2, "x2.safetensors"
	err := Comparable(c)
	require.ErrorIs(t, err, ErrInput)
	require.EqualError(t, err, "job: x2.safetensors decodes frames to 2 times the encoded height and width, so a round trip cannot compare them: use encode, then decode")
}

// A warning lists what a .npy does not store, if anything.
func TestForgotten(t *testing.T) {
	e, err := Encode(wan21, media.Format{Frames: 1, Height: 15, Width: 30}, "a/z.npy", Choices{FPS: latent.Rational{Num: 5, Den: 1}})
	require.NoError(t, err)
	require.Equal(t, "a/z.npy: .npy keeps no metadata: it will decode to the padded 1 frames of 32x16, not 1 of 30x15", e.Forgotten)
	require.Equal(t, latent.Rational{Num: 5, Den: 1}, e.Again.FPS)
	e, err = Encode(wan21, media.Format{Frames: 5, Height: 16, Width: 32}, "z.npy", Choices{})
	require.NoError(t, err)
	require.Empty(t, e.Forgotten)
	clip := media.Format{Frames: 4, Height: 16, Width: 32, FPS: latent.Rational{Num: 30000, Den: 1001}, Aspect: latent.Rational{Num: 64, Den: 45}}
	e, err = Encode(wan21, clip, "z.npy", Choices{})
	require.NoError(t, err)
	require.Equal(t, "z.npy: .npy keeps no metadata: it will decode to the padded 5 frames of 32x16, not 4 of 32x16, "+
		"it will decode to square pixels, not 64/45, decoding it takes --fps 30000/1001", e.Forgotten)
	whole := media.Format{Frames: 5, Height: 16, Width: 32}
	for says, c := range map[string]struct {
		model vae.Config
		want  Choices
	}{
		"z.npy: .npy keeps no metadata: decoding it takes --scale none":                                            {wan21, Choices{Scale: latent.ScaleNone}},
		"z.npy: .npy keeps no metadata: decoding it takes --independent-frames":                                    {wan21, Choices{Independent: &yes}},
		"z.npy: .npy keeps no metadata: decoding it takes --scale none, decoding it takes --no-independent-frames": {qwen, Choices{Independent: &no, Scale: latent.ScaleNone}},
		"z.npy: .npy keeps no metadata: decoding it takes --layout MFHW":                                           {wan21, Choices{Moments: true}},
	} {
		e, err := Encode(c.model, whole, "z.npy", c.want)
		require.NoError(t, err)
		assert.Equal(t, says, e.Forgotten)
		e, err = Encode(c.model, whole, "z.safetensors", c.want)
		require.NoError(t, err)
		assert.Empty(t, e.Forgotten)
	}
}

// A clip whose latent does not fit in memory is refused before it is encoded.
func TestEncodeBeyondMemory(t *testing.T) {
	c := vae.Config{Family: vae.Usual().Family, Latent: 16, Spatial: 8, Temporal: 4, Channels: 3, Patch: 1}
	clip := media.Format{Frames: 1<<17 - 3, Height: 1 << 14, Width: 1 << 14}
	_, err := Encode(c, clip, "z.safetensors", Choices{})
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "a latent of shape [16 32768 2048 2048] needs 8388608 MiB of memory")
	_, err = Encode(c, media.Format{Frames: 81, Height: 720, Width: 1280}, "z.safetensors", Choices{})
	require.NoError(t, err)
}

// An encoder that makes latents directly has neither moments nor samples.
func TestNoMoments(t *testing.T) {
	taesd := vae.Config{Family: "taesd", Model: "TAESD", Latent: 4, Spatial: 8, Temporal: 1, Channels: 3, Patch: 1, Independent: true}
	clip := media.Format{Frames: 1, Height: 16, Width: 16, Channels: 3}
	for _, want := range []Choices{{Moments: true}, {Sample: true}} {
		_, err := Encode(taesd, clip, "out.safetensors", want)
		require.ErrorIs(t, err, ErrInput)
		require.ErrorContains(t, err, "TAESD produces latents, not distributions")
	}
	_, err := Encode(taesd, clip, "out.safetensors", Choices{})
	require.NoError(t, err)
}

// A tiny autoencoder decodes the latents of its VAE without being asked.
func TestStandIn(t *testing.T) {
	taesd := vae.Config{Family: "taesd", Model: "TAESD", File: "taesd.pth", Latent: 4, Spatial: 8, Temporal: 1, Channels: 3, Patch: 1, Independent: true}
	z := latent.Latent{Channels: 4, Frames: 1, Height: 2, Width: 2, Data: make([]float32, 16)}
	was := latent.Original{Frames: 1, Height: 16, Width: 16, Scale: latent.ScalePipeline, Images: true, Checkpoint: latent.Checkpoint{Family: "kl", Model: "Stable Diffusion", File: "vae.safetensors"}}
	z.Meta = was.Meta(latent.KindLatent)
	d, err := Decode(taesd, z, "z.safetensors", Choices{})
	require.NoError(t, err)
	require.Empty(t, d.Warnings)
	require.Len(t, d.Notes, 1)
	require.Contains(t, d.Notes[0], `decoding with "TAESD" ("taesd.pth"), which uses the same latents`)
	was.Checkpoint.Model = "SDXL"
	z.Meta = was.Meta(latent.KindLatent)
	_, err = Decode(taesd, z, "z.safetensors", Choices{})
	require.ErrorIs(t, err, ErrInput)
}
