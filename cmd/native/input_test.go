package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/safetensors"
)

// refusal is a command line that must fail with the given message. OUT stands for a file
// in a folder that must stay empty.
type refusal struct {
	name string
	args string // separated by spaces
	code int
	want string // part of the message
	env  []string
}

func (r refusal) test(t *testing.T) {
	dir := t.TempDir()
	args := strings.Fields(strings.ReplaceAll(r.args, "OUT", filepath.Join(dir, "out")))
	o := tesseraEnv(t, r.env, args...)
	assert.Equal(t, r.code, o.code, "exit code")
	assert.Contains(t, o.stderr, r.want)
	assert.Equal(t, 1, strings.Count(o.stderr, "tessera: "), "how often the error is printed")
	assert.Empty(t, o.stdout)
	assert.NotContains(t, o.stderr, "goroutine")
	isEmpty(t, dir)
}

func refuse(t *testing.T, all []refusal) {
	for _, r := range all {
		t.Run(r.name, r.test)
	}
}

// safetensorsFile puts a header in front of data.
func safetensorsFile(t *testing.T, header string, data int) string {
	t.Helper()
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	path := filepath.Join(t.TempDir(), "hostile.safetensors")
	write(t, path, append(append(b, header...), make([]byte, data)...))
	return path
}

// rebuilt returns the tiny model with changed tensors; nil drops one.
func rebuilt(t *testing.T, change func(x tensor) *tensor) string {
	t.Helper()
	return changed(t, tiny, change)
}

// changed is rebuilt for any model.
func changed(t *testing.T, path string, change func(x tensor) *tensor) string {
	t.Helper()
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var all []tensor
	for _, name := range f.Names() {
		x, _ := f.Tensor(name)
		v := tensor{name, slices.Clone(x.Shape), make([]float32, x.Elements())}
		require.NoError(t, x.ReadF32(v.data, 0))
		if c := change(v); c != nil {
			all = append(all, *c)
		}
	}
	return writeTensors(t, filepath.Join(t.TempDir(), "rebuilt.safetensors"), f.Metadata(), all...)
}

func TestBadModels(t *testing.T) {
	whole, err := os.ReadFile(tiny)
	require.NoError(t, err)
	file := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "model.safetensors")
		write(t, path, b)
		return path
	}
	const one = `"dtype":"F32","shape":[2],"data_offsets":`
	missing := rebuilt(t, func(x tensor) *tensor {
		if x.name == "decoder.conv_out.bias" || x.name == "encoder.conv_in.weight" {
			return nil
		}
		return &x
	})
	misshaped := rebuilt(t, func(x tensor) *tensor {
		if x.name == "decoder.conv_out.weight" {
			x.shape = []int{x.shape[0] * x.shape[1], 1, 3, 3, 3}
		}
		return &x
	})
	unused := rebuilt(t, func(x tensor) *tensor {
		if x.name == "decoder.conv_out.bias" {
			x.name = "decoder.conv_out.biass"
		}
		return &x
	})
	latent := latentFile(t, 16, 1, 2, 2)
	cases := []refusal{
		{name: "not there", args: "nowhere.safetensors", want: "nowhere"},
		{name: "a folder", args: t.TempDir(), want: "not a regular file"},
		{name: "empty", args: file(nil), want: "0 bytes"},
		{name: "truncated", args: file(whole[:len(whole)/2]), want: "is cut short"},
		{name: "cut in its header", args: file(whole[:1000]), want: "header"},
		{name: "longer than it says", args: file(append(slices.Clone(whole), 0)), want: "bytes"},
		{name: "huge header", args: file(append(binary.LittleEndian.AppendUint64(nil, math.MaxInt64), '{')), want: "header"},
		{name: "no JSON", args: safetensorsFile(t, "hello", 0), want: "header"},
		{name: "not UTF-8", args: safetensorsFile(t, "{\"\xff\":{"+one+"[0,8]}}", 8), want: "UTF-8"},
		{name: "duplicate key", args: safetensorsFile(t, `{"a":{`+one+`[0,8]},"a":{`+one+`[8,16]}}`, 16), want: "twice"},
		{name: "overlap", args: safetensorsFile(t, `{"a":{`+one+`[0,8]},"b":{`+one+`[4,12]}}`, 12), want: "b"},
		{name: "hole", args: safetensorsFile(t, `{"a":{`+one+`[0,8]},"b":{`+one+`[12,20]}}`, 20), want: "b"},
		{name: "overflowing shape", args: safetensorsFile(t,
			`{"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}}`, 8), want: "a"},
		{name: "another model", args: safetensorsFile(t, `{"model.layers.0.weight":{`+one+`[0,8]}}`, 8),
			want: "not a VAE that tessera knows"},
		{name: "missing tensors", args: missing, want: "2 missing: encoder.conv_in.weight; decoder.conv_out.bias"},
		{name: "mis-shaped tensor", args: misshaped, want: "1 of another shape: decoder.conv_out.weight is [72 1 3 3 3], expected [3 24 3 3 3]"},
		{name: "unused tensor", args: unused, want: "1 unknown: decoder.conv_out.biass"},
	}
	for _, c := range cases {
		c.code, c.args = job.ExitInput, "decode -m "+c.args+" "+latent+" -o OUT.npy"
		t.Run(c.name, c.test)
	}
}

func TestNaNWeights(t *testing.T) {
	needDevice(t)
	bad := rebuilt(t, func(x tensor) *tensor {
		if strings.HasSuffix(x.name, "coder.mid_block.resnets.0.conv1.weight") {
			x.data[5] = float32(math.NaN())
		}
		return &x
	})
	clip, latent := demoClip(t, 1, 16, 16), latentFile(t, 16, 1, 2, 2)
	refuse(t, []refusal{
		{name: "decode", args: "decode -m " + bad + " " + latent + " -o OUT.npy", code: job.ExitInput,
			want: "decoder.mid_block.resnets.0.conv1.weight: element 5 is NaN"},
		{name: "encode", args: "encode -m " + bad + " " + clip + " -o OUT.npy", code: job.ExitInput,
			want: "encoder.mid_block.resnets.0.conv1.weight: element 5 is NaN"},
	})
}

func TestBadLatents(t *testing.T) {
	dir := t.TempDir()
	latent := func(name string, meta map[string]string, x tensor) string {
		return writeTensors(t, filepath.Join(dir, name+".safetensors"), meta, x)
	}
	values := func(n int) []float32 { return make([]float32, n) }
	nan := values(64)
	nan[9] = float32(math.NaN())
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		write(t, path, []byte(text))
		return path
	}
	npyHead := npy([]int{16, 1, 2, 2}, values(64))
	cases := []refusal{
		{name: "not there", args: "nowhere.safetensors", want: "nowhere"},
		{name: "channels", args: latent("c", nil, tensor{"latent", []int{12, 1, 2, 2}, values(48)}), want: "[12 1 2 2], expected 16 channels"},
		{name: "rank", args: latent("r", nil, tensor{"latent", []int{16, 4}, values(64)}), want: "rank 2"},
		{name: "batch", args: latent("b", nil, tensor{"latent", []int{2, 12, 3, 2, 2}, values(288)}), want: "[2 12 3 2 2], expected [B,C,L,h,w] or [B,L,h,w,C] of 16 channels"},
		{name: "no frames", args: latent("f", nil, tensor{"latent", []int{16, 0, 2, 2}, nil}), want: "empty"},
		{name: "no rows", args: latent("h", nil, tensor{"latent", []int{16, 1, 0, 2}, nil}), want: "empty"},
		{name: "NaN", args: latent("n", nil, tensor{"latent", []int{16, 1, 2, 2}, nan}), want: "value 9 of shape [16 1 2 2] is NaN"},
		{name: "moments", args: latent("m", map[string]string{"tessera.kind": "moments"}, tensor{"latent", []int{16, 1, 2, 2}, values(64)}), want: "[16 1 2 2], expected 32 channels"},
		{name: "metadata of frames", args: latent("mf", map[string]string{"tessera.frames": "many"}, tensor{"latent", []int{16, 1, 2, 2}, values(64)}),
			want: `tessera.frames is "many", expected a positive number`},
		{name: "metadata of scale", args: latent("ms", map[string]string{"tessera.scale": "big"}, tensor{"latent", []int{16, 1, 2, 2}, values(64)}),
			want: `tessera.scale is "big", expected pipeline or none`},
		{name: "two tensors", args: writeTensors(t, filepath.Join(dir, "two.safetensors"), nil,
			tensor{"a", []int{1}, values(1)}, tensor{"b", []int{1}, values(1)}), want: "2 tensors (a, b)"},
		{name: "empty file", args: file("empty.npy", ""), want: "empty.npy"},
		{name: "truncated npy", args: file("cut.npy", string(npyHead[:len(npyHead)-4])), want: "cut.npy"},
		{name: "text", args: file("text.npy", "hello"), want: "text.npy"},
		{name: "extension", args: file("latent.lat", "hello"), want: `extension ".lat"`},
		{name: "text of a shard", args: file("latent.bin", "hello"), want: "latent.bin: 5 bytes"},
		{name: "text of torch", args: file("latent.pt", "hello"), want: "latent.pt"},
		{name: "text of numpy", args: file("latent.npz", "hello"), want: "latent.npz: not a .npz file"},
		{name: "the model", args: tiny, want: "250 tensors"},
	}
	for _, c := range cases {
		c.code, c.args = job.ExitInput, "decode -m "+tiny+" "+c.args+" -o OUT.npy"
		t.Run(c.name, c.test)
	}
}

func TestBadVideos(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		write(t, path, []byte(text))
		return path
	}
	mixed := demoClip(t, 1, 16, 16)
	img, err := os.ReadFile(filepath.Join(demoClip(t, 1, 16, 24), "frame_0000.png"))
	require.NoError(t, err)
	write(t, filepath.Join(mixed, "frame_0001.png"), img)
	cases := []refusal{
		{name: "not there", args: "nowhere.mp4", want: "nowhere"},
		{name: "empty file", args: file("empty.mp4", ""), want: "file is empty"},
		{name: "folder without frames", args: t.TempDir(), want: "no .png, .jpg, .webp, .tiff or .exr files"},
		{name: "frames of two sizes", args: mixed, want: "frame_0001.png"},
		{name: "text as PNG", args: file("text.png", "hello"), want: "text.png"},
		{name: "PNG cut short", args: file("cut.png", string(img[:len(img)/2])), want: "cut.png"},
		{name: "y4m without frames", args: file("none.y4m", "YUV4MPEG2 W16 H16 F25:1 C444\n"), want: "none.y4m"},
		{name: "y4m of no size", args: file("zero.y4m", "YUV4MPEG2 W0 H16 F25:1 C444\nFRAME\n"), want: "zero.y4m"},
		{name: "y4m cut short", args: file("cut.y4m", "YUV4MPEG2 W16 H16 F25:1 C444\nFRAME\nabc"), want: "cut.y4m"},
		{name: "latent as video", args: latentFile(t, 16, 1, 2, 2), want: "[16 1 2 2]"},
		{name: "no frames", args: writeTensors(t, filepath.Join(dir, "none.safetensors"), nil, tensor{"frames", []int{3, 0, 8, 8}, nil}), want: "none.safetensors"},
	}
	if haveFFmpeg() {
		cases = append(cases, refusal{name: "garbage", args: file("garbage.mp4", "hello, I am no video"), want: "garbage.mp4"})
	}
	for _, c := range cases {
		c.code, c.args = job.ExitInput, "encode -m "+tiny+" "+c.args+" -o OUT.npy"
		t.Run(c.name, c.test)
	}
}

func TestBadUsage(t *testing.T) {
	in := " -m " + tiny + " " + latentFile(t, 16, 1, 2, 2) + " -o OUT.npy "
	cases := []refusal{
		{name: "command", args: "decoed", want: "decoed"},
		{name: "flag", args: "decode" + in + "--fast", want: "--fast"},
		{name: "no model", args: "decode z.npy -o OUT.npy", want: "--model"},
		{name: "no output", args: "decode -m a.safetensors z.npy", want: "--output"},
		{name: "no input", args: "decode -m a.safetensors -o OUT.npy", want: "<latent>"},
		{name: "precision", args: "decode" + in + "--precision=f8", want: `"auto","f32","f16"`},
		{name: "backend", args: "decode" + in + "--backend=cuda", want: "--backend"},
		{name: "adapter", args: "decode" + in + "--adapter=-2", want: "expected best, all or numbers"},
		{name: "scale", args: "decode" + in + "--scale=half", want: "--scale"},
		{name: "memory", args: "decode" + in + "--memory=lots", want: "6GiB"},
		{name: "chunk", args: "decode" + in + "--chunk=0", want: "expected auto or a number of latent frames"},
		{name: "rate", args: "decode" + in + "--fps=0", want: "30000/1001"},
		{name: "tile", args: "decode" + in + "--tile=big", want: "expected off, auto, N or HxW"},
		{name: "tiling", args: "decode" + in + "--tiling=linear", want: "--tiling"},
		{name: "diffusers' overlap of the tile", args: "decode" + in + "--tiling=diffusers --tile=64 --overlap=64", want: "must be smaller than the tile"},
		{name: "small tile", args: "decode" + in + "--tile=4", want: "at least 8 pixels"},
		{name: "overlap of the tile", args: "decode" + in + "--tile=64 --overlap=64", want: "must be smaller than the tile"},
		{name: "overlap of one tile", args: "decode" + in + "--tile=off --overlap=32", want: "a single tile has no overlap"},
		{name: "overlap of exact tiles", args: "decode" + in + "--tiling=exact --overlap=32", want: "halo"},
		{name: "overlap of one tile, encoding", args: "encode -m a b -o OUT.npy --tile=off --overlap=32", want: "a single tile has no overlap"},
		{name: "overlap of one tile, there and back", args: "roundtrip -m a b -o OUT.npy --tile=off --overlap=32", want: "a single tile has no overlap"},
		{name: "seed of nothing", args: "encode -m a b -o OUT.npy --seed=0", want: "--seed=0 without --sample"},
		{name: "seed of nothing, there and back", args: "roundtrip -m a b -o OUT.npy --seed=7", want: "--seed=7 without --sample"},
		{name: "scale of moments", args: "encode -m a b -o OUT.npy --moments --scale=pipeline", want: "--moments with --scale=pipeline"},
		{name: "format of a video", args: "decode -m nowhere.safetensors nowhere.npy -o OUT.avi", want: "cannot write .avi, expected a folder"},
		{name: "format of a video, there and back", args: "roundtrip -m nowhere.safetensors nowhere -o OUT.latent", want: "cannot write .latent"},
		{name: "format of a latent", args: "encode -m nowhere.safetensors nowhere -o OUT.pth", want: "extension \".pth\", expected .safetensors"},
		{name: "quiet and not", args: "decode" + in + "--quiet --progress=bar", want: "--quiet with --progress=bar"},
		{name: "progress", args: "decode" + in + "--progress=loud", want: "--progress"},
		{name: "moments and sample", args: "encode -m a b -o OUT.npy --moments --sample", want: "together"},
	}
	for _, o := range "1234567" {
		cases = append(cases, refusal{name: "overlap " + string(o), args: "decode" + in + "--overlap=" + string(o), want: "black line"})
	}
	for _, c := range cases {
		c.code = job.ExitUsage
		t.Run(c.name, c.test)
	}
}

func TestNoDevice(t *testing.T) {
	in := "decode -m " + tiny + " " + latentFile(t, 16, 1, 2, 2) + " -o OUT.npy "
	refuse(t, []refusal{
		{name: "no Dawn", args: in, code: job.ExitDevice, want: "/nonexistent", env: []string{"TESSERA_DAWN=/nonexistent"}},
		{name: "no Dawn, the way to one", args: in, code: job.ExitDevice, want: "tools/deps.sh", env: []string{"TESSERA_DAWN=/nonexistent"}},
		{name: "no Dawn by flag", args: in + "--dawn=/none.so", code: job.ExitDevice, want: "/none.so"},
		{name: "not Dawn", args: in + "--dawn=" + tiny, code: job.ExitDevice, want: "does not load"},
		{name: "devices", args: "devices --dawn=/none.so", code: job.ExitDevice, want: "/none.so"},
	})
	needDevice(t)
	refuse(t, []refusal{
		{name: "no such adapter", args: in + "--adapter=99", code: job.ExitDevice, want: "adapter 99"},
		{name: "info of no such adapter", args: "info " + tiny + " --adapter=99", code: job.ExitDevice, want: "adapter 99"},
		{name: "no such backend here", args: in + "--backend=" + onWindows("metal", "d3d12"), code: job.ExitDevice, want: onWindows("metal", "d3d12")},
	})
	if runtime.GOOS == "windows" {
		return // drivers cannot be hidden
	}
	refuse(t, []refusal{
		{name: "no adapter", args: in, code: job.ExitDevice, want: "no usable adapter",
			env: []string{"VK_DRIVER_FILES=/nonexistent.json", "VK_ICD_FILENAMES=/nonexistent.json"}},
	})
}

// onWindows returns the first text on Windows and the second elsewhere.
func onWindows(there, elsewhere string) string {
	if runtime.GOOS == "windows" {
		return there
	}
	return elsewhere
}

// A requested tile is not reduced.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	needDevice(t)
	small, large, huge := latentFile(t, 16, 1, 20, 20), latentFile(t, 16, 1, 300, 500), latentFile(t, 16, 1, 600, 1000)
	run := func(latent string) string { return "decode -m " + tiny + " " + latent + " -o OUT.npy " }
	refuse(t, []refusal{
		{name: "for the limits", args: run(huge) + "--tile=off --memory=1TiB", code: job.ExitMemory, want: "too large for the device"},
		{name: "for the memory", args: run(large) + "--tile=512 --memory=64MiB", code: job.ExitMemory, want: "does not fit the memory budget"},
		{name: "with advice", args: run(large) + "--tile=512 --memory=64MiB", code: job.ExitMemory, want: "--tile auto"},
		{name: "nothing fits", args: run(small) + "--memory=2MiB", code: job.ExitMemory, want: "MiB of 2.0 (--memory sets the budget)"},
	})
}

func TestBadOutputs(t *testing.T) {
	clip, latent := demoClip(t, 2, 16, 16), latentFile(t, 16, 2, 2, 2)
	full := t.TempDir()
	write(t, filepath.Join(full, "precious.txt"), []byte("keep me"))
	decode := "decode -m " + tiny + " " + latent + " -o "
	encode := "encode -m " + tiny + " " + clip + " -o "
	refuse(t, []refusal{
		{name: "no folder", args: decode + "OUT/none/a.npy", code: job.ExitUsage, want: "doesn't exist"},
		{name: "no folder for a latent", args: encode + "OUT/none/a.npy", code: job.ExitUsage, want: "doesn't exist"},
		{name: "under a file", args: decode + tiny + "/a.npy", code: job.ExitUsage, want: onWindows("doesn't exist", "cannot write")},
		{name: "format", args: decode + "OUT.avi", code: job.ExitUsage, want: "cannot write .avi"},
		{name: "format of a latent", args: encode + "OUT.png", code: job.ExitUsage, want: ".safetensors, .latent or .npy"},
		{name: "one picture for many frames", args: decode + "OUT.png", code: job.ExitUsage, want: "5 frames don't fit into one PNG"},
		{name: "a folder with other files", args: decode + full, code: job.ExitUsage, want: "precious.txt"},
		{name: "a folder as a latent", args: encode + filepath.Dir(full) + "/001.npy/../../", code: job.ExitUsage, want: "latent"},
	})
	b, err := os.ReadFile(filepath.Join(full, "precious.txt"))
	require.NoError(t, err)
	assert.Equal(t, "keep me", string(b))
}

// With --json an error is JSON on standard output, with no other text.
func TestErrorsAsJSON(t *testing.T) {
	for args, code := range map[string]int{
		"decode -m nowhere z.npy -o o.npy --json": job.ExitInput,
		"decode --json":                                    job.ExitUsage,
		"devices --dawn=/none.so --json":                   job.ExitDevice,
		"encode -m nowhere z.npy -o o.npy --json --tile=1": job.ExitUsage,
	} {
		o := tessera(t, strings.Fields(args)...)
		var e struct {
			Error string
			Code  int `json:"exit_code"`
		}
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &e), "%s: %s", args, o.stdout)
		assert.NotEmpty(t, e.Error, args)
		assert.Equal(t, code, e.Code, args)
		assert.Equal(t, code, o.code, args)
		assert.NotContains(t, o.stderr, "tessera:", "%s: also on standard error", args)
	}
}
