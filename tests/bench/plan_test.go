package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
	"tessera/vae"
)

const planFile = "../../docs/benchmarks/plan.md"

var update = flag.Bool("update", false, "rewrite "+planFile)

const planText = `# What the models need, by their plans

Counted from the recorded commands of the published sizes, on no device: exact, the same on every machine. An adapter without limits is planned for, so that whole frames are possible. FLOPs count a multiply-add as two; traffic is every operand of every command moved once; memory is the peak on the device: weights as halves, activations, causal memory, what puts tiles together, and what results leave by, 8-bit pictures; the least is that of a budget just large enough, for which larger frames run a few at a time, tiles are put together beside the device and nothing leaves while the next is made (` + "`tessera plan --least`" + `); a latent is read as it is. Tiles of SeedVR2, CogVideoX and Stable Diffusion are feathered and overlap by 64; those of Wan, Qwen-Image, TAESD and TAEHV are exact, so that they have the result of the whole frame. ` + "`go test ./tests/bench -update`" + ` writes this file; without -update the test fails where a plan no longer is what it says.
`

const planHead = `
| | frames | tiles | GFLOP | GFLOP a frame | traffic f32, MB | memory f32, MB | traffic f16, MB | memory f16, MB | least f16, MB |
|---|---|---|---|---|---|---|---|---|---|
`

const leastHead = `
What one tile takes at least in f16, GiB; a clip is of 21 frames, LTX-2's of 201, Mochi 1's of 19, CogVideoX's of 25, Cosmos 1.0's of 17. A longer one takes as much, except with HunyuanVideo 1.5, whose middle sees all frames, and with Cosmos 1.0 and the encoder of Mochi 1, which see them in every layer. With ` + "`--offload on`" + ` causal memory, frames that wait and large weights are on the host, and cross; of pictures, where that is not enough, the largest activations.

| | on the device | with offload, on the device | on the host | crosses for a frame |
|---|---|---|---|---|
`

// planned are the models in plan.md.
var planned = []struct {
	name    string
	tensors []synthetic.Spec
}{
	{"SeedVR2, 250.6 million parameters", synthetic.SeedVR2([]int{128, 256, 512, 512}, 16)},
	{"Wan 2.1 and Qwen-Image, 126.9 million parameters", synthetic.Wan(synthetic.WanConfig{})},
	{"Wan 2.2, 704.7 million parameters", synthetic.Wan(synthetic.WanConfig{Nested: true})},
	{"Qwen-Image 2.1, 337.7 million parameters", synthetic.Wan(synthetic.WanConfig{Still: true})},
	{"HunyuanVideo, 246.5 million parameters", synthetic.Hunyuan(synthetic.HunyuanConfig{})},
	{"HunyuanVideo 1.5, 1,260.6 million parameters", synthetic.Hunyuan15(synthetic.Hunyuan15Config{})},
	{"HunyuanImage 2.1, 405.6 million parameters", synthetic.HunyuanImage(synthetic.HunyuanImageConfig{})},
	{"LTX-2, 1222.5 million parameters", synthetic.LTX(synthetic.LTXConfig{})},
	{"Mochi 1, 459.7 million parameters", synthetic.Mochi(synthetic.MochiConfig{})},
	{"CogVideoX, 215.6 million parameters", synthetic.CogVideoX(synthetic.CogVideoXConfig{})},
	{"Cosmos 1.0, 105.7 million parameters", synthetic.Cosmos(synthetic.CosmosConfig{})},
	{"Stable Diffusion and SDXL, 83.7 million parameters", synthetic.KL(synthetic.KLConfig{Quant: true})},
	{"FLUX.2, 84.0 million parameters", synthetic.KL(synthetic.KLConfig{Flux2: true})},
	{"TAEHV for Wan 2.1, 11.3 million parameters", synthetic.TAEHV(synthetic.TAEHVConfig{})},
	{"TAESD and TAESDXL, 2.4 million parameters", synthetic.TAESD(synthetic.TAESDConfig{})},
}

// TestPlan checks the FLOPs, traffic and memory in plan.md. With -short it checks only
// the smallest size.
func TestPlan(t *testing.T) {
	short := !*update && testenv.Short(t)
	some := func(sizes ...tiling.Size) []tiling.Size {
		if short {
			return sizes[:1]
		}
		return sizes
	}
	var text strings.Builder
	text.WriteString(planText)
	for _, p := range planned {
		text.WriteString("\n## " + p.name + "\n" + planHead)
		path := headerOnly(t, p.tensors)
		f32, f16 := inspect(t, path, vae.F32), inspect(t, path, vae.F16)
		for _, direction := range []string{"decode", "encode"} {
			for _, size := range some(tiling.Size{H: 512, W: 512}, tiling.Size{H: 720, W: 1280}, tiling.Size{H: 1080, W: 1920}) {
				for _, frames := range clips(f16) {
					for _, tile := range []int{0, 512} {
						if tile == size.H && tile == size.W {
							continue
						}
						text.WriteString(planLine(t, direction, size, frames, tile, f32, f16))
					}
				}
			}
		}
		text.WriteString(leastHead)
		for _, direction := range []string{"decode", "encode"} {
			if f16.Config.Independent {
				for _, size := range some(tiling.Square(1024), tiling.Square(2048), tiling.Square(4096)) {
					text.WriteString(leastLine(t, direction, size, 1, f16))
				}
				continue
			}
			text.WriteString(leastLine(t, direction, tiling.Square(1024), 1, f16))
			for _, size := range some(tiling.Size{H: 512, W: 512}, tiling.Size{H: 1024, W: 1024}, tiling.Size{H: 1080, W: 1920}, tiling.Size{H: 2160, W: 3840}) {
				text.WriteString(leastLine(t, direction, size, clip(f16), f16))
			}
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(planFile, []byte(text.String()), 0o666))
	}
	want, err := os.ReadFile(planFile)
	require.NoError(t, err)
	if short {
		for line := range strings.Lines(text.String()) {
			require.Contains(t, string(want), line, "plans have changed; if that is meant: go test ./tests/bench -update")
		}
		return
	}
	require.Equal(t, string(want), text.String(), "plans have changed; if that is meant: go test ./tests/bench -update")
}

// clips returns the lengths for which a model is planned: pictures need what one frame
// does.
func clips(m *vae.Model) []int {
	if m.Config.Independent {
		return []int{1}
	}
	return []int{1, 1 + m.Config.Temporal*max(1, m.Config.Full), clip(m)}
}

// clip returns the length of a clip that needs as much as any longer one: if layers
// look ahead in time, the first slice contains all that they see. With batches it is
// one frame longer.
func clip(m *vae.Model) int {
	if batch := m.Config.Temporal * m.Config.Full; batch > 0 {
		return 3*batch + 1
	}
	if m.Config.Family == "ltx2" {
		return 201
	}
	return 20/m.Config.Temporal*m.Config.Temporal + 1
}

func planLine(t *testing.T, direction string, size tiling.Size, frames, tile int, f32, f16 *vae.Model) string {
	a, b := plan(t, f32, direction, size, frames, tile), plan(t, f16, direction, size, frames, tile)
	least := planWith(t, f16, direction, size, frames, tile, vae.Options{Internals: vae.Internals{Least: true}, Offload: vae.OffloadOff})
	require.Equal(t, a.Cost.FLOPs, b.Cost.FLOPs, "%s %v: FLOPs in f32 and f16", direction, size)
	tiles := "whole"
	if tile > 0 {
		tiles = fmt.Sprintf("%d %s of %d", len(a.Tiles.Tiles), map[vae.Tiling]string{vae.Feather: "feathered", vae.Exact: "exact"}[a.Tiling], tile)
	}
	const giga, mega = 1e9, 1e6
	return fmt.Sprintf("| %s %d×%d | %d | %s | %.1f | %.1f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", direction, size.W, size.H, frames, tiles,
		float64(a.Cost.FLOPs)/giga, float64(a.Cost.FLOPs)/giga/float64(frames),
		float64(a.Cost.Bytes)/mega, float64(a.Bytes())/mega, float64(b.Cost.Bytes)/mega, float64(b.Bytes())/mega, float64(least.Bytes())/mega)
}

// leastOf returns the plan with the least memory for a job in one tile.
func leastOf(t *testing.T, m *vae.Model, direction string, size tiling.Size, frames int, offload vae.Offload) *vae.Plan {
	t.Helper()
	return planWith(t, m, direction, size, frames, 0, vae.Options{Internals: vae.Internals{Least: true}, Offload: offload, Host: 1 << 50})
}

func leastLine(t *testing.T, direction string, size tiling.Size, frames int, m *vae.Model) string {
	off, on := leastOf(t, m, direction, size, frames, vae.OffloadOff), leastOf(t, m, direction, size, frames, vae.OffloadOn)
	require.Zero(t, on.Causal)
	atOnce := off.Slices == 1 || slices.ContainsFunc(off.Work.Passes, func(w *engine.Pass) bool { return w.Once }) // all frames of a clip
	if frames > 1 && size.H == 512 && !atOnce {
		longer, longerOn := leastOf(t, m, direction, size, 401, vae.OffloadOff), leastOf(t, m, direction, size, 401, vae.OffloadOn)
		require.Equal(t, []int64{off.Bytes(), on.Bytes(), on.Host}, []int64{longer.Bytes(), longerOn.Bytes(), longerOn.Host}, "a longer clip takes as much")
	}
	what, giga := "picture", float64(1<<30)
	if frames > 1 {
		what = "clip"
	}
	return fmt.Sprintf("| %s %s %d×%d | %.2f | %.2f | %.2f | %.2f |\n", direction, what, size.W, size.H,
		float64(off.Bytes())/giga, float64(on.Bytes())/giga, float64(on.Host)/giga, float64(on.Moved)/float64(frames)/giga)
}

// TestMemory checks the least memory of SeedVR2's decode in f16, for clips of any
// length. The reference's peaks are 6.2, 18.5 and 3.4 GiB.
func TestMemory(t *testing.T) {
	m := inspect(t, headerOnly(t, planned[0].tensors), vae.F16)
	least := func(frames, side int) float64 {
		return float64(leastOf(t, m, "decode", tiling.Square(side), frames, vae.OffloadOff).Bytes()) / (1 << 30)
	}
	require.Less(t, least(21, 512), 2.2)
	require.Less(t, least(21, 1024), 7.5)
	require.Less(t, least(1, 1024), 0.9)
}

// TestOffload checks the least memory for clips with causal memory and weights on the
// host.
func TestOffload(t *testing.T) {
	for _, c := range []struct {
		model         int
		direction     string
		width, height int
		most          float64 // GiB
	}{
		{0, "decode", 512, 512, 0.4},
		{0, "decode", 1920, 1080, 1.8},
		{0, "decode", 3840, 2160, 6.6},
		{0, "encode", 1920, 1080, 1.6},
		{1, "decode", 1920, 1080, 1},
		{1, "encode", 1920, 1080, 1.2},
		{2, "decode", 1920, 1080, 1.4},
		{2, "encode", 1920, 1080, 0.6},
	} {
		m := inspect(t, headerOnly(t, planned[c.model].tensors), vae.F16)
		p := leastOf(t, m, c.direction, tiling.Size{H: c.height, W: c.width}, 21, vae.OffloadOn)
		require.Less(t, float64(p.Bytes())/(1<<30), c.most, "%s %s", planned[c.model].name, c.direction)
	}
}

// TestLargePictures checks the memory for decoding and encoding whole pictures with
// Stable Diffusion and SDXL in f16; the largest with activations on the host.
func TestLargePictures(t *testing.T) {
	m := published(t, "kl", vae.F16)
	for _, c := range []struct {
		side    int
		budget  float64 // GiB
		offload vae.Offload
	}{
		{1024, 1.2, vae.OffloadOff},
		{2048, 3.7, vae.OffloadOff},
		{4096, 6, vae.OffloadOn},
	} {
		if c.side == 4096 && testenv.Short(t) {
			continue
		}
		for _, direction := range []string{"decode", "encode"} {
			p := planWith(t, m, direction, tiling.Square(c.side), 1, 0, vae.Options{Budget: int64(c.budget * (1 << 30)), Offload: c.offload, Host: 17 << 30})
			require.True(t, p.Tiles.Whole())
			require.LessOrEqual(t, float64(p.Bytes())/(1<<30), c.budget, "%s of %d", direction, c.side)
			require.Equal(t, c.offload == vae.OffloadOn, p.Hosted, "%s of %d", direction, c.side)
			require.Zero(t, p.Spool)
		}
	}
}

// plan returns the plan for a clip, in tiles or whole.
func plan(t *testing.T, m *vae.Model, direction string, size tiling.Size, frames, tile int) *vae.Plan {
	t.Helper()
	return planWith(t, m, direction, size, frames, tile, vae.Options{})
}

func planWith(t *testing.T, m *vae.Model, direction string, size tiling.Size, frames, tile int, o vae.Options) *vae.Plan {
	t.Helper()
	if tile > 0 {
		o.Tile.Tile, o.Overlap = tiling.Square(tile), tiling.Square(64)
	}
	if direction == "decode" {
		cell := m.Config.Spatial
		p, err := m.PlanDecode(t.Context(), (frames-1)/m.Config.Temporal+1, (size.H+cell-1)/cell, (size.W+cell-1)/cell, vae.DecodeOptions{Options: o, RGBA8: true})
		require.NoError(t, err)
		return p.Plan
	}
	p, err := m.PlanEncode(t.Context(), frames, size.H, size.W, vae.EncodeOptions{Options: o})
	require.NoError(t, err)
	return p.Plan
}

func inspect(t *testing.T, path string, p vae.Precision) *vae.Model {
	t.Helper()
	m, err := vae.Inspect(path, unlimited(), vae.Settings{Precision: p, Force: true})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

// headerOnly creates a checkpoint of the published size with a header and a sparse
// hole: plans need no weights.
func headerOnly(t *testing.T, tensors []synthetic.Spec) string {
	t.Helper()
	var specs []safetensors.Spec
	for _, s := range tensors {
		specs = append(specs, safetensors.Spec{Name: s.Name, DType: safetensors.F16, Shape: s.Shape})
	}
	path := filepath.Join(t.TempDir(), "published.safetensors")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = safetensors.NewWriter(f, specs, nil)
	require.NoError(t, err)
	header, data, err := safetensors.Size(specs, nil)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(8+header+data))
	return path
}
