package windows

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// result is the output of commands with --json, as far as it is used.
type result struct {
	Outputs []string
	Adapter struct{ Backend string }
	Quality *struct {
		PSNR float64 `json:"psnr_db"`
	}
	Longest float64 `json:"longest_piece_seconds"`
	First   float64 `json:"longest_first_piece_seconds"`
}

const model = "demo/tiny-seedvr2.safetensors"

// Both backends' results equal the Linux build's on the same adapter: Vulkan to 1e-12;
// Direct3D, whose compiler orders sums differently, to the goldens' 1e-9.
func TestSameAsLinux(t *testing.T) {
	w := setUp(t)
	p, linux := w.unpack(t, "windows-amd64", w.drive), w.unpack(t, "linux-amd64", filepath.Join(w.root, "tmp"))
	clip := smallClip(t, p.dir, 5)
	latent, video := filepath.Join(linux.dir, "z.npy"), filepath.Join(linux.dir, "out.npy")
	for _, args := range [][]string{
		{"encode", "-m", model, strings.Replace(clip, p.dir, "/"+rel(t, w.root, p.dir), 1), "-o", "z.npy"},
		{"decode", "-m", model, "z.npy", "-o", "out.npy"},
	} {
		w.start(t, linux.dir, append([]string{"./tessera"}, append(args, "--precision", "f32")...)).want(t, 0)
	}
	copyFile(t, latent, filepath.Join(p.dir, "z.npy"))
	for backend, bound := range map[string]float64{"vulkan": 1e-12, "d3d12": 1e-9} {
		t.Run(backend, func(t *testing.T) {
			for _, c := range []struct {
				args   []string
				output string
				want   string
			}{
				{[]string{"encode", "-m", `demo\tiny-seedvr2.safetensors`, `clip`}, `encoded öğe.npy`, latent},
				{[]string{"decode", "-m", p.windows(model), `.\z.npy`}, `decoded 映像.npy`, video},
			} {
				out := filepath.Join(p.dir, c.output)
				require.NoError(t, os.WriteFile(out, []byte("replaced in one step"), 0o666))
				o := p.run(t, nil, append(c.args, "-o", c.output, "--backend", backend, "--precision", "f32", "--json")...)
				o.want(t, 0)
				var r result
				o.decode(t, &r)
				got := nmse(t, out, c.want)
				t.Logf("%s on %s: NMSE %.1e to Linux, longest piece %.3f s, of first ones %.3f s", c.args[0], backend, got, r.Longest, r.First)
				assert.Equal(t, backend, r.Adapter.Backend)
				assert.LessOrEqual(t, got, bound, "NMSE of %s", c.args[0])
			}
			nothingTemporary(t, p.dir)
		})
	}
}

// The demo, which users run first.
func TestDemo(t *testing.T) {
	w := setUp(t)
	p := w.unpack(t, "windows-amd64", w.drive)
	for _, backend := range []string{"vulkan", "d3d12"} {
		t.Run(backend, func(t *testing.T) {
			if backend == "d3d12" && testing.Short() {
				t.Skip("takes minutes")
			}
			o := p.run(t, nil, "demo", "--backend", backend, "-o", `out\`+backend, "--json")
			o.want(t, 0)
			var r result
			o.decode(t, &r)
			assert.Equal(t, backend, r.Adapter.Backend)
			if assert.NotNil(t, r.Quality) {
				assert.InDelta(t, 30.23, r.Quality.PSNR, 0.05)
			}
			t.Logf("longest piece %.3f s, of first ones %.3f s", r.Longest, r.First)
			frames, _ := filepath.Glob(filepath.Join(p.dir, "out", backend, "decoded", "*.png"))
			assert.Len(t, frames, 17)
		})
	}
}

// A path longer than the old limit of 260 characters.
func TestLongPath(t *testing.T) {
	w := setUp(t)
	p := w.unpack(t, "windows-amd64", w.drive)
	shortClip(t, p.dir, 1)
	long := strings.Repeat(strings.Repeat("uzun", 10)+`\`, 7)
	require.NoError(t, os.MkdirAll(filepath.Join(p.dir, strings.ReplaceAll(long, `\`, "/")), 0o777))
	out := long + "z.safetensors"
	require.GreaterOrEqual(t, len(p.windows(out)), 280, "not long")
	p.run(t, nil, "encode", "-m", model, "clip", "-o", out, "--backend", "vulkan").want(t, 0)
	p.run(t, nil, "decode", "-m", model, p.windows(strings.ReplaceAll(out, `\`, "/")), "-o", long+"frames", "--backend", "vulkan").want(t, 0)
}

// Arguments that are only files come from dragging files onto the program.
func TestDropped(t *testing.T) {
	w := setUp(t)
	p := w.unpack(t, "windows-amd64", w.drive)
	shortClip(t, p.dir, 1)
	vars := []string{"TESSERA_BACKEND=vulkan"}
	p.run(t, vars, "encode", "-m", model, "clip", "-o", "z.safetensors").want(t, 0)
	z := p.windows("z.safetensors")
	p.run(t, vars, z).want(t, 2, "no checkpoint is known")
	p.run(t, vars, z, p.windows(model)).want(t, 0, "decoding "+z+" with "+p.windows(model), `z-decoded`)
	p.run(t, vars, z).want(t, 0, `z-decoded-2`)
	frames, _ := filepath.Glob(filepath.Join(p.dir, "z-decoded", "*.png"))
	require.Len(t, frames, 1, "frames beside the latent")
	p.run(t, vars, p.windows(model)).want(t, 0, "SeedVR2")
}

func TestBadInput(t *testing.T) {
	w := setUp(t)
	p := w.unpack(t, "windows-amd64", w.drive)
	data, err := os.ReadFile(filepath.Join(p.dir, model))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "kesik model.safetensors"), data[:len(data)/2], 0o666))
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"decode -m kesik+model.safetensors z.npy -o out.npy", 3, "kesik model.safetensors"},
		{"decode -m " + model + " nowhere.npy -o out.npy", 3, "nowhere.npy"},
		{"encode -m " + model + " nowhere -o out.npy", 3, "nowhere"},
		{"nowhere.safetensors", 3, "nowhere.safetensors"},
		{"decode --tile", 2, "--tile"},
		{"devices --backend metal", 4, "metal"},
	} {
		args := strings.Fields(c.line)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "+", " ")
		}
		p.run(t, nil, args...).want(t, c.code, c.want)
	}
	nothingTemporary(t, p.dir)
}

// nothingTemporary checks that no half-written file is left below dir.
func nothingTemporary(t *testing.T, dir string) {
	t.Helper()
	filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		assert.NotContains(t, filepath.Base(path), ".tmp-", "left: %s", path)
		return err
	})
}

// shortClip copies the demo clip's first frames to dir/clip.
func shortClip(t *testing.T, dir string, frames int) string {
	t.Helper()
	all, _ := filepath.Glob(filepath.Join(dir, "demo/clip/*.png"))
	clip := filepath.Join(dir, "clip")
	require.NoError(t, os.MkdirAll(clip, 0o777))
	for _, f := range all[:frames] {
		copyFile(t, f, filepath.Join(clip, filepath.Base(f)))
	}
	return clip
}

// smallClip copies the upper left of those frames, because Direct3D's shaders run on a
// processor through two translations.
func smallClip(t *testing.T, dir string, frames int) string {
	t.Helper()
	clip := shortClip(t, dir, frames)
	all, err := filepath.Glob(filepath.Join(clip, "*.png"))
	require.NoError(t, err)
	for _, name := range all {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		whole, err := png.Decode(bytes.NewReader(data))
		require.NoError(t, err)
		part := image.NewRGBA(image.Rect(0, 0, 48, 32))
		draw.Draw(part, part.Rect, whole, image.Point{}, draw.Src)
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, part))
		require.NoError(t, os.WriteFile(name, b.Bytes(), 0o666))
	}
	return clip
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o777))
}

func rel(t *testing.T, base, path string) string {
	t.Helper()
	r, err := filepath.Rel(base, path)
	require.NoError(t, err)
	return r
}

// nmse compares two .npy files of float32.
func nmse(t *testing.T, got, want string) float64 {
	t.Helper()
	a, b := floats(t, got), floats(t, want)
	require.Len(t, a, len(b))
	require.NotEmpty(t, a)
	var square, sum float64
	for i := range a {
		square += (a[i] - b[i]) * (a[i] - b[i])
		sum += b[i] * b[i]
	}
	return square / sum
}

func floats(t *testing.T, file string) []float64 {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, len(data) >= 10 && string(data[:6]) == "\x93NUMPY", "%s: not .npy", file)
	data = data[10+int(binary.LittleEndian.Uint16(data[8:])):]
	out := make([]float64, len(data)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
	return out
}
