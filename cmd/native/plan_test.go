package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/app/terminal"
	"tessera/engine"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/vae"
)

// noDevice is an environment in which no device opens.
var noDevice = []string{"VK_DRIVER_FILES=/none", "VK_ICD_FILENAMES=/none"}

func planJSON(t *testing.T, args ...string) (r planned) {
	t.Helper()
	o := tesseraEnv(t, noDevice, append(append([]string{"plan", "--json"}, args...), "--progress=none")...)
	require.Equal(t, 0, o.code, o.stdout+o.stderr)
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &r), o.stdout)
	return r
}

// Published models are planned without a checkpoint and without a device, and so is a
// file with only its header.
func TestPlan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hole.safetensors")
	var specs []safetensors.Spec
	for _, s := range synthetic.Wan(synthetic.WanConfig{}) {
		specs = append(specs, safetensors.Spec{Name: s.Name, DType: safetensors.F16, Shape: s.Shape})
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	_, err = safetensors.NewWriter(f, specs, nil)
	require.NoError(t, err)
	header, data, err := safetensors.Size(specs, nil)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(8+header+data))
	require.NoError(t, f.Close())

	for _, op := range []string{"decode", "encode"} {
		args := []string{"--op", op, "--frames=9", "--size=320x192", "--tile=128", "--precision=f32"}
		named, file := planJSON(t, append(args, "--model=wan2.1")...), planJSON(t, append(args, "--model="+path)...)
		assert.Equal(t, terminal.FileName(path), file.File)
		file.File = ""
		assert.Equal(t, named, file)

		assert.Equal(t, []any{"Wan 2.1", op, 9, 192, 320, "f32", "128x128", "exact"},
			[]any{named.Model, named.Op, named.Frames, named.Height, named.Width, named.Precision, named.Tile, named.Tiling})
		assert.Equal(t, named.Peak, named.Weights+named.Activations+named.Causal+named.Canvas+named.Transfer, "the parts of the peak")
		var sum planned
		for _, l := range named.Layers {
			sum.Bytes += l.Bytes
			sum.Dispatches += l.Dispatches
			sum.MACs += l.MACs
			sum.ReferenceMACs += l.Reference
		}
		assert.Equal(t, []int64{named.Bytes, named.Dispatches, named.MACs + named.AttentionMACs, named.ReferenceMACs + named.ReferenceAttention},
			[]int64{sum.Bytes, sum.Dispatches, sum.MACs, sum.ReferenceMACs}, "the layers' sums")
		assert.Positive(t, min(named.Causal, named.AttentionMACs, named.Spool))

		whole := planJSON(t, append(args[:4], "--precision=f32", "--model=wan2.1", "--tile=off")...)
		assert.Equal(t, whole.ReferenceMACs, named.ReferenceMACs, "the reference has no exact tiles")
		assert.Equal(t, whole.ReferenceAttention, named.ReferenceAttention)
		assert.Greater(t, named.MACs, whole.MACs)
		assert.Equal(t, []any{"off", "", 1}, []any{whole.Tile, whole.Tiling, whole.Tiles})
	}
}

// A plan equals the one of a job of that size, for all flags: trimmed to odd sizes, of
// pictures, within a budget.
func TestPlanIsTheJobs(t *testing.T) {
	adapter := gpu.Info{Type: "discrete", F16: true, Memory: 1 << 50, Limits: gpu.DefaultLimits}
	adapter.Limits.MaxBuffer, adapter.Limits.MaxBinding = 1<<50, 1<<50
	m, err := vae.Inspect(tiny, adapter, vae.Settings{Precision: vae.F16})
	require.NoError(t, err)
	defer m.Close()
	for flags, o := range map[string]vae.DecodeOptions{
		"--tile=off": {Frames: 7, Height: 100, Width: 150},
		"--tile=off --independent-frames --chunk=2": {Frames: 7, Height: 100, Width: 150, Options: vae.Options{Independent: true, Chunk: 2}},
	} {
		latent := map[bool]int{true: 7, false: 3}[o.Independent]
		o.RGBA8 = true
		p, err := m.PlanDecode(t.Context(), latent, 13, 19, o)
		require.NoError(t, err)
		r := planJSON(t, append(strings.Fields(flags), "-m", tiny, "--frames=7", "--size=150x100")...)
		assert.Equal(t, p.Bytes(), r.Peak, flags)
		assert.Equal(t, p.Cost.MACs, r.MACs+r.AttentionMACs, flags)
		assert.Equal(t, o.Independent, r.Pictures, flags)
	}
	r := planJSON(t, "--model=seedvr2", "--size=1280x720", "--tile=auto", "--memory=768MiB", "--offload=off")
	assert.LessOrEqual(t, r.Peak, int64(768<<20))
	assert.Greater(t, r.Peak, int64(512<<20), "a larger tile fits")
	assert.Equal(t, "feather", r.Tiling)
	o := tesseraEnv(t, noDevice, "plan", "--model=seedvr2", "--size=1280x720", "--tile=off", "--memory=768MiB", "--offload=off")
	assert.Equal(t, job.ExitMemory, o.code)
	assert.Contains(t, o.stderr, "the budget is 768.0 MiB")
	r = planJSON(t, "--model=seedvr2", "--size=1280x720", "--tile=auto", "--memory=768MiB")
	assert.Equal(t, []any{1, r.Host, true}, []any{r.Tiles, r.HostWeights, r.Host > 0}, "with its weights on the host the picture fits")
}

// The alternatives appear side by side: one that fits is what the job plans with the same
// flags, and one that does not fit shows the least that it needs.
func TestPlanChoices(t *testing.T) {
	args := []string{"--model=seedvr2", "--frames=21", "--size=512x384", "--memory=1GiB", "--choices"}
	r := planJSON(t, append(args, "--tile=auto")...)
	require.Len(t, r.Choices, 3)
	away, untiled, tiles := r.Choices[0], r.Choices[1], r.Choices[2]
	assert.Equal(t, []bool{true, true, true}, []bool{away.Offload, away.Exact, away.Fits}, "with offload one tile is the largest")
	assert.Equal(t, []bool{false, true, false}, []bool{untiled.Offload, untiled.Exact, untiled.Fits})
	assert.Equal(t, []bool{false, false, true}, []bool{tiles.Offload, tiles.Exact, tiles.Fits}, "what it is without")
	assert.LessOrEqual(t, away.Peak, int64(1<<30))
	assert.Greater(t, untiled.Peak, int64(1<<30))
	assert.Equal(t, []any{r.Tile, r.Tiles, r.Peak, r.Host, r.Moved, r.MACs + r.AttentionMACs},
		[]any{away.Tile, away.Tiles, away.Peak, away.Host, away.Moved, away.MACs})
	assert.Equal(t, untiled.Peak, planJSON(t, append(args[:3:3], "--tile=off", "--least", "--offload=off")...).Peak)

	off := planJSON(t, append(args, "--offload=off")...)
	assert.Equal(t, r.Choices, off.Choices)
	assert.Less(t, tiles.Peak, int64(1<<30))
	assert.Equal(t, []any{off.Tile, off.Tiles, off.Peak}, []any{tiles.Tile, tiles.Tiles, tiles.Peak})
	o := tesseraEnv(t, noDevice, append([]string{"plan", "--progress=none", "--offload=off"}, args...)...)
	require.Zero(t, o.code, o.stderr)
	assert.Regexp(t, `(?m)^  tiles +offload +device +host +free there +moved +MACs +exact +fits\n  one +yes +\S+ MiB +\S+ .iB +\S+ .iB +\S+ GiB +\S+ T +yes +yes\n  one +no +1\.\S+ GiB +0 bytes +0 bytes +0 bytes +\S+ T +yes +no\n  \d+ of \S+ +no .* no +yes$`, o.stdout)
	assert.Equal(t, []int64{engine.HostFree(r.Host), engine.HostFree(r.Host), 0}, []int64{r.HostFree, away.Free, untiled.Free}, "three quarters of it are taken")
	o = tesseraEnv(t, noDevice, append([]string{"plan", "--progress=none"}, args...)...)
	assert.Contains(t, o.stdout, "\n  free there  "+engine.Bytes(r.HostFree)+" at least: a run uses at most 3/4 of it, the plan has no such limit\n")
	picture := planJSON(t, "--model=seedvr2", "--size=512x384", "--choices")
	assert.Len(t, picture.Choices, 1, "a picture keeps nothing, and without a budget no tile is larger")
}

// Causal memory in 8 bits takes a little more than half of f16's and a quarter of f32's;
// with --offload it is on the host, and the transfers shrink accordingly.
func TestPlanMemoryFormat(t *testing.T) {
	args := []string{"--model=wan2.1", "--frames=21", "--size=512x384", "--tile=off"}
	with := func(more ...string) planned { return planJSON(t, append(args[:4:4], more...)...) }
	f32, f16, i8 := with("--precision=f32"), with("--memory-format=f16"), with("--memory-format=i8")
	assert.Equal(t, []string{"f32", "f16", "i8"}, []string{f32.Format, f16.Format, i8.Format})
	assert.Equal(t, 2*f16.Causal, f32.Causal)
	assert.InDelta(t, 0.5, float64(i8.Causal)/float64(f16.Causal), 0.02)
	assert.Equal(t, i8.Causal, with("--memory-format=i8", "--precision=f32").Causal)
	assert.Less(t, i8.Peak, f16.Peak-f16.Causal/3)
	away, away8 := with("--offload=on"), with("--offload=on", "--memory-format=i8")
	assert.Equal(t, i8.Causal, away8.Host)
	assert.InDelta(t, 0.5, float64(away8.Moved)/float64(away.Moved), 0.03)
	assert.Empty(t, planJSON(t, "--model=wan2.1", "--size=512x384", "--memory-format=i8").Format, "a picture keeps nothing")
	o := tesseraEnv(t, noDevice, append([]string{"plan", "--progress=none", "--memory-format=i8", "--offload=on"}, args...)...)
	assert.Contains(t, o.stdout, "MiB of causal memory in 8 bits, ")
	o = tesseraEnv(t, noDevice, append([]string{"plan", "--progress=none", "--memory-format=i8"}, args...)...)
	assert.Contains(t, o.stdout, "causal memory in 8 bits ")
	o = tesseraEnv(t, noDevice, append([]string{"plan", "--memory-format=i4"}, args...)...)
	assert.Equal(t, 2, o.code)
}

// The text for people: the job, tiles, products beside the reference's, traffic and
// memory; with --layers every layer.
func TestPlanForPeople(t *testing.T) {
	o := tesseraEnv(t, noDevice, "plan", "--model=seedvr2", "--frames=21", "--size=512x256", "--tile=off", "--layers")
	require.Equal(t, 0, o.code, o.stderr)
	r := planJSON(t, "--model=seedvr2", "--frames=21", "--size=512x256", "--tile=off")
	for _, line := range []string{
		"SeedVR2, decode of 21 frames, 512 wide and 256 high, f16\n",
		"  tiles       one tile, 5 slices\n",
		fmt.Sprintf("  products    %s MACs, %.3f of the reference's 32.7 T\n", terminal.Scaled(r.MACs), float64(r.MACs)/float64(r.ReferenceMACs)),
		fmt.Sprintf(" in %s dispatches\n", terminal.Thousands(r.Dispatches)),
	} {
		assert.Contains(t, o.stdout, line)
	}
	assert.Regexp(t, `(?m)^  memory      [\d.]+ GiB: weights [\d.]+ MiB, activations [\d.]+ [GM]iB, causal memory [\d.]+ [GM]iB, results 3.0 MiB$`, o.stdout)
	for _, l := range r.Layers {
		assert.Regexp(t, `(?m)^  `+l.Name+` +`+l.Kind+` .* `+fmt.Sprint(l.Dispatches)+`$`, o.stdout)
	}
	o = tesseraEnv(t, noDevice, "plan", "--model=seedvr2", "--size=512x256")
	assert.NotContains(t, o.stdout, "decoder.")
}

func TestScaled(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0 k", 999_949: "999.9 k", 999_950: "1.0 M", 3_087_267_790_848: "3.1 T", 9e18: "9.0 E"} {
		assert.Equal(t, want, terminal.Scaled(n))
	}
}

// An impossible plan is a usage error that says what is possible.
func TestPlanRefuses(t *testing.T) {
	for args, says := range map[string]string{
		"--model=seedvr3 --size=64x64":                          "no such file, expected a checkpoint or a name from `tessera models`",
		"--model=seedvr2 --size=720":                            "expected a width and a height of 1 to 32768 pixels, such as 1280x720",
		"--model=seedvr2 --size=0x720":                          "expected a width and a height",
		"--model=seedvr2 --size=1280x720x3":                     "expected a width and a height",
		"--model=seedvr2 --size=40000x40000":                    "expected a width and a height",
		"--model=seedvr2 --size=8193x4096":                      "expected at most 33554432",
		"--model=seedvr2 --size=1024x512 --frames=1048576":      "expected at most 274877906944",
		"--model=seedvr2 --size=64x64 --frames=0":               "expected 1 to 1048576 frames",
		"--model=seedvr2 --size=64x64 --op=roundtrip":           `"decode","encode"`,
		"--model=seedvr2 --size=64x64 --precision=bf16":         `"f32","f16"`,
		"--model=seedvr2 --size=64x64 --tile=7":                 "tile",
		"--model=seedvr2 --size=64x64 --tiling=exact --tile=32": "tiling exact: not for this model, expected feather",
		"--model=seedvr2 --size=64x64 --memory=none":            "expected a size",
		"--model=seedvr2 --size=64x64 --tile=off --overlap=16":  "a single tile has no overlap",
	} {
		o := tesseraEnv(t, noDevice, append([]string{"plan"}, strings.Fields(args)...)...)
		assert.Equal(t, job.ExitUsage, o.code, "%s: %s", args, o.stderr)
		assert.Contains(t, o.stderr, says, args)
	}
	o := tesseraEnv(t, noDevice, "plan", "--model=plan_test.go", "--size=64x64")
	assert.Equal(t, job.ExitInput, o.code, o.stderr)
}

// The longest clip and the largest frame are counted without an overflow.
func TestPlanOfTheLargest(t *testing.T) {
	testenv.Long(t)
	for _, size := range [][2]string{{"--size=1024x256", "--frames=1048573"}, {"--size=7680x4320", "--frames=1"}} {
		r := planJSON(t, "--model=seedvr2", size[0], size[1], "--tile=off")
		for _, l := range r.Layers {
			assert.GreaterOrEqual(t, min(l.MACs, l.Reference, l.Bytes, l.Dispatches), int64(0), "%s: %s", size, l.Name)
		}
		pixels := float64(r.Height * r.Width * r.Frames)
		assert.InDelta(t, 13, float64(r.ReferenceMACs)/pixels/1e6, 2)
	}
}

// The map has every buffer of the peak, with its contents and their last layers. With the
// least memory it has more buffers in less memory.
func TestPlanMap(t *testing.T) {
	args := []string{"--model=wan2.1", "--frames=9", "--size=320x192", "--tile=off", "--map"}
	r, least := planJSON(t, args...), planJSON(t, append(args, "--least")...)
	require.Less(t, least.Peak, r.Peak)
	require.Greater(t, len(least.Map), len(r.Map))
	require.Zero(t, r.Depth)
	require.Equal(t, 2, least.Depth)
	for _, p := range []planned{r, least} {
		layer := map[string]int{}
		for i, l := range p.Layers {
			layer[l.Name] = i
		}
		sizes, sum := map[string]int64{}, int64(0)
		for _, l := range p.Map {
			if l.Slice == 0 || sizes[l.Buffer] == 0 { // several are called staging
				sum += l.Size
			}
			sizes[l.Buffer] = l.Size
			assert.LessOrEqual(t, l.Bytes, l.Size, "%+v", l)
			if l.Slice > 0 {
				assert.Contains(t, layer, l.Until)
			}
		}
		assert.Equal(t, p.Peak, sum)
	}
	o := tesseraEnv(t, noDevice, append([]string{"plan", "--progress=none"}, args...)...)
	require.Zero(t, o.code, o.stderr)
	require.Regexp(t, `arena 0 +\S+ MiB +1 +\S+ .iB +decoder\.\S+ +decoder\.`, o.stdout)
	require.Regexp(t, `memory decoder\.head\.2 1 .* all `, o.stdout)
}

// A published model is planned by its name alone, at a usual size, and if there is an
// adapter with the time that it takes there.
func TestPlanByName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]planned{
		"qwen-image": {Model: "Qwen-Image", Width: 1024, Height: 1024, Pictures: true},
		"wan-2.1":    {Model: "Wan 2.1", Width: 1280, Height: 720},
		"SDXL":       {Model: "SDXL", Width: 1024, Height: 1024, Pictures: true},
	} {
		var r planned
		o := tesseraEnv(t, noDevice, "plan", "-m", name, "--json")
		require.Equal(t, 0, o.code, o.stderr)
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &r))
		got := planned{Model: r.Model, Width: r.Width, Height: r.Height, Pictures: r.Pictures}
		assert.Equal(t, want.Model, got.Model)
		assert.Equal(t, want.Pictures, got.Pictures)
		assert.Equal(t, [2]int{want.Width, want.Height}, [2]int{got.Width, got.Height}, name)
		assert.Zero(t, r.Expected, "without an adapter")
	}
	assert.Contains(t, tesseraEnv(t, noDevice, "plan", "-m", "qwen-image").stdout, "time        unknown")
	needDevice(t)
	assert.Regexp(t, `time        .* expected on `, succeed(t, "plan", "-m", "taesd", "--size", "64x64").stdout)
}
