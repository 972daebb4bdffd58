package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
)

// wan21, wan22 and qwen have few channels, but the published number of latent channels,
// whose statistics are known. Qwen-Image's is recognised by its name.
func wan21(t testing.TB) string { return wan(t, "tiny_wan21.safetensors", synthetic.WanConfig{Dim: 4}) }

func wan22(t testing.TB) string {
	return wan(t, "tiny_wan22.safetensors", synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4})
}

func qwen(t testing.TB) string {
	return wan(t, "tiny_qwen_image_vae.safetensors", synthetic.WanConfig{Dim: 4})
}

// diffusersNames returns diffusers' names of Wan's tensors.
func diffusersNames(t testing.TB, model string) func(string) string {
	t.Helper()
	f, err := os.Open("../../vae/testdata/wan_names.txt")
	require.NoError(t, err)
	defer f.Close()
	names := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if w := strings.Fields(lines.Text()); w[0] == model {
			names[w[1]] = w[2]
		}
	}
	return func(name string) string {
		require.NotEmpty(t, names[name], "%s has no tensor %s", model, name)
		return names[name]
	}
}

// pthFile stores the tensors of a safetensors file as torch does.
func pthFile(t testing.TB, name, from string) string {
	return made(t, name, func(path string) error {
		f, err := safetensors.Open(from)
		if err != nil {
			return err
		}
		defer f.Close()
		return pthtest.Convert(path, f, pthtest.Options{Ordered: true})
	})
}

func same(t *testing.T, what, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	require.NoError(t, err)
	y, err := os.ReadFile(b)
	require.NoError(t, err)
	assert.True(t, string(x) == string(y), "%s: %s and %s differ", what, filepath.Base(a), filepath.Base(b))
}

func TestLayoutsAreIdentical(t *testing.T) {
	t.Parallel()
	needDevice(t)
	for _, c := range []struct {
		model  string
		config synthetic.WanConfig
		latent []int
	}{
		{"wan2.1", synthetic.WanConfig{Dim: 4}, []int{16, 2, 2, 3}},
		{"wan2.2", synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}, []int{48, 2, 2, 3}},
	} {
		original := wan(t, c.model+"_original.safetensors", c.config)
		c.config.Name = diffusersNames(t, c.model)
		files := []struct{ path, format, layout string }{
			{original, "safetensors", "original"},
			{wan(t, c.model+"_diffusers.safetensors", c.config), "safetensors", "diffusers"},
			{pthFile(t, c.model+".pth", original), "pth", "original"},
		}
		dir, latent, clip := t.TempDir(), latentFile(t, c.latent...), demoClip(t, 5, 32, 48)
		for i, f := range files {
			var m modelInfo
			require.NoError(t, json.Unmarshal([]byte(succeed(t, "info", f.path, "--json").stdout), &m))
			assert.Equal(t, c.model, m.Family, f.path)
			assert.Equal(t, f.format, m.Format, f.path)
			assert.Equal(t, f.layout, m.Layout, f.path)
			out := func(n int) (video, z string) {
				base := filepath.Join(dir, string(rune('a'+n)))
				return base + ".npy", base + ".safetensors"
			}
			video, z := out(i)
			succeed(t, "decode", "-m", f.path, latent, "-o", video)
			succeed(t, "encode", "-m", f.path, clip, "-o", z)
			if i > 0 {
				wantVideo, wantZ := out(0)
				same(t, c.model, wantVideo, video)
				want, _ := readTensor(t, wantZ)
				got, _ := readTensor(t, z)
				assert.Equal(t, want, got, f.path)
			}
		}
	}
}

// Exact tiles are the default of Wan's models and equal one tile; info shows their memory
// beside one tile's.
func TestExactTiles(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	npyFile := func(name string) string { return filepath.Join(dir, name+".npy") }
	whole, tiled := npyFile("whole"), npyFile("tiled")
	for _, c := range []struct {
		model, tile string
		latent      []int
		halo        string // up to the frame's edges
	}{
		{wan21(t), "24x40", []int{16, 2, 7, 9}, "48x40"}, // of 56x72 pixels
		{wan22(t), "48", []int{48, 2, 5, 4}, "48x48"},    // of 80x64
	} {
		latent, clip := latentFile(t, c.latent...), demoClip(t, 5, 56, 70)
		one := succeedJSON(t, "decode", "-m", c.model, latent, "-o", whole, "--tile=off")
		r := succeedJSON(t, "decode", "-m", c.model, latent, "-o", tiled, "--tile", c.tile)
		assert.Equal(t, "exact", r.Decode.Tiling)
		assert.GreaterOrEqual(t, r.Decode.Tiles, 4)
		assert.Empty(t, r.Decode.Overlap)
		assert.Equal(t, c.halo, r.Decode.Halo)
		assert.Equal(t, one.Decode.PlannedBytes, r.Decode.UntiledBytes)
		assert.Zero(t, one.Decode.UntiledBytes)
		assert.Empty(t, one.Decode.Tiling)
		assert.LessOrEqual(t, nmse32(readNPY(t, tiled), readNPY(t, whole)), 1e-11, "%s: decode", c.model)
		succeed(t, "decode", "-m", c.model, latent, "-o", tiled, "--tile", c.tile, "--tiling=feather", "--overlap=16")
		assert.Greater(t, nmse32(readNPY(t, tiled), readNPY(t, whole)), 1e-8, "%s: feathered tiles don't differ: this would not see inexact ones", c.model)
		succeed(t, "encode", "-m", c.model, clip, "-o", whole, "--tile=off")
		o := succeed(t, "encode", "-m", c.model, clip, "-o", tiled, "--tile", c.tile, "--tiling=exact")
		assert.LessOrEqual(t, nmse32(readNPY(t, tiled), readNPY(t, whole)), 1e-11, "%s: encode", c.model)
		for _, word := range []string{"exact tiles of ", ", halo ", " planned, ", " in one tile"} {
			assert.Contains(t, o.stdout, word)
		}
	}
}

// Other tilings are used on request, diffusers' with its defaults, and refused by name if
// the model does not support them.
func TestTilings(t *testing.T) {
	t.Parallel()
	needDevice(t)
	out := filepath.Join(t.TempDir(), "out.npy")
	latent := latentFile(t, 16, 1, 33, 2)
	r := succeedJSON(t, "decode", "-m", wan21(t), latent, "-o", out, "--tiling=diffusers")
	s := r.Decode
	assert.Equal(t, "diffusers", s.Tiling)
	assert.Equal(t, "256x256", s.Tile)
	assert.Equal(t, "64x64", s.Overlap)
	assert.Equal(t, 2, s.Tiles)
	assert.Empty(t, s.Halo)
	r = succeedJSON(t, "decode", "-m", wan21(t), latent, "-o", out, "--tiling=feather", "--tile=128", "--overlap=16")
	s = r.Decode
	assert.Equal(t, "feather", s.Tiling)
	assert.Equal(t, "128x128", s.Tile)
	assert.Equal(t, "16x16", s.Overlap)
	assert.Zero(t, s.UntiledBytes)
	r = succeedJSON(t, "decode", "-m", tiny, latent, "-o", out, "--tile=128")
	s = r.Decode
	assert.Equal(t, "feather", s.Tiling)
	assert.Equal(t, "64x64", s.Overlap)
	assert.Equal(t, "32x32", succeedJSON(t, "decode", "-m", tiny, latent, "-o", out, "--tile=64").Decode.Overlap)
	in := "decode -m " + tiny + " " + latent + " -o OUT.npy "
	refuse(t, []refusal{
		{name: "exact for SeedVR2", args: in + "--tiling=exact", code: job.ExitUsage, want: "SeedVR2: tiling exact: not for this model, expected feather"},
		{name: "diffusers for SeedVR2", args: in + "--tiling=diffusers", code: job.ExitUsage, want: "SeedVR2: tiling diffusers: not for this model, expected feather"},
		{name: "overlap of the tile", args: in + "--tile=64 --overlap=64", code: job.ExitUsage, want: "must be smaller than the tile"},
	})
	// The middle of exact tiles needs the whole latent frame: where that does not fit,
	// feathered tiles do.
	o := succeed(t, "decode", "-m", wan21(t), latentFile(t, 16, 1, 90, 90), "-o", out, "--memory=30MiB")
	assert.Contains(t, o.stderr, "exact tiles don't fit 30.0 MiB")
	assert.Contains(t, o.stdout, "overlap 64x64")
	// Exact tiles have no overlap, so a small tile cannot conflict with one.
	succeed(t, "decode", "-m", wan21(t), latent, "-o", out, "--tile=64")
}

// A file whose quantisation convolutions are zero gives the same output for everything:
// it is refused, and accepted with --force.
func TestFlat(t *testing.T) {
	needDevice(t)
	flat := changed(t, wan21(t), func(x tensor) *tensor {
		if x.name == "conv1.weight" || x.name == "conv2.weight" {
			clear(x.data)
		}
		return &x
	})
	latent, clip := latentFile(t, 16, 1, 2, 2), demoClip(t, 1, 16, 16)
	const want = "every picture would be flat brown: the file is damaged, use another copy (--force loads it anyway)"
	refuse(t, []refusal{
		{name: "decode", args: "decode -m " + flat + " " + latent + " -o OUT.npy", code: job.ExitInput, want: want},
		{name: "encode", args: "encode -m " + flat + " " + clip + " -o OUT.npy", code: job.ExitInput, want: want},
		{name: "roundtrip", args: "roundtrip -m " + flat + " " + clip + " -o OUT.npy", code: job.ExitInput, want: want},
		{name: "demo", args: "demo -m " + flat + " -o OUT", code: job.ExitInput, want: want},
		{name: "info", args: "info " + flat, code: job.ExitInput, want: want},
	})
	dir := t.TempDir()
	one, other := filepath.Join(dir, "one.npy"), filepath.Join(dir, "other.npy")
	zeros := writeTensors(t, filepath.Join(dir, "zeros.safetensors"), nil, tensor{"latent", []int{16, 1, 2, 2}, make([]float32, 64)})
	o := succeed(t, "decode", "-m", flat, latent, "-o", one, "--force")
	assert.Contains(t, o.stderr, "warning: ")
	assert.Contains(t, o.stderr, "flat brown")
	succeed(t, "decode", "-m", flat, zeros, "-o", other, "--force")
	same(t, "any latent", one, other)
	succeed(t, "info", flat, "--force")
}

// A clip of any length and size keeps both, also with cells of 16 pixels.
func TestOddSizesWan(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 7, 37, 53)
	latent, video := filepath.Join(dir, "z.safetensors"), filepath.Join(dir, "out.safetensors")
	for _, c := range []struct {
		model  string
		latent []int
	}{
		{wan21(t), []int{16, 3, 5, 7}},
		{wan22(t), []int{48, 3, 3, 4}},
	} {
		e := succeedJSON(t, "encode", "-m", c.model, clip, "-o", latent)
		assert.Equal(t, 7, e.Frames)
		assert.Equal(t, 37, e.Height)
		assert.Equal(t, 53, e.Width)
		assert.Equal(t, c.latent, e.Latent)
		assert.Equal(t, "pipeline", e.Scale)
		d := succeedJSON(t, "decode", "-m", c.model, latent, "-o", video)
		x, _ := readTensor(t, video)
		assert.Equal(t, 7, d.Frames)
		assert.Equal(t, []int{3, 7, 37, 53}, x.shape)
		// A roundtrip gives the same result in one run.
		again := filepath.Join(dir, "again.safetensors")
		succeed(t, "roundtrip", "-m", c.model, clip, "-o", again)
		same(t, c.model, video, again)
	}
}

// One picture is one latent frame and decodes to one picture, with every family.
func TestPictures(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	picture := filepath.Join(demoClip(t, 1, 19, 30), "frame_0000.png")
	z, out := filepath.Join(dir, "z.npy"), filepath.Join(dir, "out.png")
	for _, model := range []string{tiny, wan21(t), wan22(t), qwen(t), layered(t)} {
		e := succeedJSON(t, "encode", "-m", model, picture, "-o", filepath.Join(dir, "z.safetensors"))
		d := succeedJSON(t, "decode", "-m", model, filepath.Join(dir, "z.safetensors"), "-o", out)
		assert.Equal(t, 1, e.Latent[1], model)
		assert.Equal(t, 1, d.Frames, model)
		assert.Equal(t, 19, d.Height, model)
		assert.Equal(t, 30, d.Width, model)
		b := readPNG(t, out).Bounds()
		assert.Equal(t, 30, b.Dx(), model)
		assert.Equal(t, 19, b.Dy(), model)
	}
	// .npy stores no metadata: there is a warning about what is lost.
	assert.Contains(t, succeed(t, "encode", "-m", wan22(t), picture, "-o", z).stderr, "padded 1 frames of 32x32, not 1 of 30x19")
}

// Qwen-Image treats frames as pictures by default; the latent stores which they were,
// whatever the model's default.
func TestIndependentFrames(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 3, 16, 24)
	latent, video := filepath.Join(dir, "z.safetensors"), filepath.Join(dir, "out.npy")
	for _, c := range []struct {
		model, flag string
		frames      int // of the latent
	}{
		{qwen(t), "", 3},
		{qwen(t), "--no-independent-frames", 2},
		{wan21(t), "", 2},
		{wan21(t), "--independent-frames", 3},
	} {
		e := succeedJSON(t, strings.Fields("encode -m "+c.model+" "+clip+" -o "+latent+" "+c.flag)...)
		_, meta := readTensor(t, latent)
		images := c.frames == 3
		assert.Equal(t, c.frames, e.Latent[1], "%s %s", c.model, c.flag)
		assert.Equal(t, images, e.Pictures, c.model)
		assert.Equal(t, images, meta["tessera.images"] == "true", "%s %s: metadata %v", c.model, c.flag, meta)
		d := succeedJSON(t, "decode", "-m", c.model, latent, "-o", video)
		assert.Equal(t, 3, d.Frames, c.model)
		assert.Equal(t, e.Pictures, d.Pictures, c.model)
	}
	// Flags override what the latent says: three latent frames as nine frames.
	d := succeedJSON(t, "decode", "-m", wan21(t), latent, "-o", video, "--no-independent-frames")
	assert.Equal(t, 9, d.Frames)
	assert.False(t, d.Pictures)
	// A batch of pictures decodes to the pictures, one by one.
	folder, z := filepath.Join(dir, "frames"), latentFile(t, 4, 3, 2, 3)
	succeed(t, "decode", "-m", layered(t), z, "-o", folder, "--independent-frames")
	x, _ := readTensor(t, z)
	for i, name := range []string{"frame_0000.png", "frame_0001.png", "frame_0002.png"} {
		var data []float32
		for c := range 4 {
			data = append(data, x.data[(c*3+i)*6:][:6]...)
		}
		one, out := filepath.Join(dir, "one.safetensors"), filepath.Join(dir, "one.png")
		writeTensors(t, one, nil, tensor{"latent", []int{4, 1, 2, 3}, data})
		succeed(t, "decode", "-m", layered(t), one, "-o", out)
		assert.Equal(t, decodePNG(t, out).Pix, decodePNG(t, filepath.Join(folder, name)).Pix, "%s is not the picture of its latent alone", name)
	}
}

// ComfyUI stores Wan's latents as the VAE's own numbers: this is the default for reading
// and writing its files, but not for other files or families.
func TestComfyUI(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	x, _ := readTensor(t, latentFile(t, 1, 16, 1, 2, 3))
	in := writeTensors(t, file("in.latent"), nil,
		tensor{"latent_tensor", []int{1, 16, 1, 2, 3}, x.data}, tensor{"latent_format_version_0", []int{0}, nil})
	decode := func(model, name string, flags ...string) string {
		r := succeedJSON(t, append([]string{"decode", "-m", model, in, "-o", file(name)}, flags...)...)
		return r.Scale
	}
	for model, want := range map[string]string{wan21(t): "none", qwen(t): "none", tiny: "pipeline"} {
		got := decode(model, "default.npy")
		decode(model, "none.npy", "--scale=none")
		decode(model, "pipeline.npy", "--scale=pipeline")
		assert.Equal(t, want, got, model)
		same(t, model, file("default.npy"), file(want+".npy"))
		assert.NotEqual(t, readNPY(t, file("pipeline.npy")), readNPY(t, file("none.npy")), "%s: --scale changes nothing", model)
	}

	clip := demoClip(t, 1, 16, 24)
	encode := func(model, name string) ([]float32, string) {
		r := succeedJSON(t, "encode", "-m", model, clip, "-o", file(name))
		if strings.HasSuffix(name, ".npy") {
			return readNPY(t, file(name)), r.Scale
		}
		// The file's only tensor beside its empty mark.
		f, err := safetensors.Open(file(name))
		require.NoError(t, err)
		defer f.Close()
		z, _ := f.Tensor("latent_tensor")
		v := make([]float32, z.Elements())
		require.NoError(t, z.ReadF32(v, 0))
		assert.Equal(t, r.Scale, f.Metadata()["tessera.scale"], "%s: metadata %v, scale %s", name, f.Metadata(), r.Scale)
		return v, r.Scale
	}
	plain, scale := encode(wan21(t), "own.latent")
	assert.Equal(t, "none", scale, "Wan's .latent is written with scale %s", scale)
	shared, scale := encode(wan21(t), "shared.npy")
	assert.Equal(t, "pipeline", scale, "Wan's .npy is written with scale %s", scale)
	for i, v := range plain[:6] { // of channel 0, by the published mean and deviation
		assert.InDelta(t, (float64(v)+0.7571)/2.8184, shared[i], 1e-6, "value %d", i)
	}
	_, scale = encode(tiny, "seedvr2.latent")
	assert.Equal(t, "pipeline", scale, "SeedVR2's .latent")
}
