package wgsl

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// Every operation has a plain kernel that runs everywhere and takes everything. Names
// distinguish kernels of a table, and a table has every shader.
func TestTables(t *testing.T) {
	files := map[string]bool{}
	operations := map[string]bool{}
	for _, table := range tables {
		assert.False(t, operations[table.operation], "two tables of %s", table.operation)
		operations[table.operation] = true
		require.NotEmpty(t, table.kernels, table.operation)
		first := table.kernels[0]
		assert.Equal(t, "plain", first.name, table.operation)
		assert.Nil(t, first.needs, "%s: plain runs everywhere", table.operation)
		assert.Nil(t, first.takes, "%s: plain takes all weights", table.operation)
		for i, k := range table.kernels {
			for _, h := range k.shaders {
				files[h.file] = true
			}
			for _, other := range table.kernels[:i] {
				assert.NotEqual(t, other.name, k.name, "%s: two kernels of a name", table.operation)
				assert.False(t, (k.takes != nil || other.takes != nil) && k.packing == other.packing,
					"%s: %s takes some weights, and shares its packing with %s", table.operation, k.name, other.name)
			}
		}
	}
	names := map[string]string{}
	for _, file := range shaderFiles(t) {
		text, err := fs.ReadFile(texts, file+".wgsl")
		require.NoError(t, err)
		if strings.Contains(string(text), "@compute") && strings.HasPrefix(string(text), "// "+path.Base(file)+":") {
			assert.True(t, files[file], "%s is in no table", file)
		}
		if files[file] {
			assert.Empty(t, names[path.Base(file)], "%s: programs are called by names without folders", file)
			names[path.Base(file)] = file
		}
	}
}

// The tile's sizes come into the text only from the table.
func TestTile(t *testing.T) {
	h := row(t, "conv3d", "plain").shaders[0]
	h.wg, h.pixels = 32, 6
	source := h.source(F32, F32)
	for _, line := range []string{"const WG: u32 = 32;\n", "const PIXELS: u32 = 6;\n", "const BLOCK: u32 = 8;\n"} {
		assert.Equal(t, 1, strings.Count(source, line), line)
	}
	h.block = 0
	assert.NotContains(t, h.source(F32, F32), "const BLOCK")
	for _, file := range shaderFiles(t) {
		text, err := fs.ReadFile(texts, file+".wgsl")
		require.NoError(t, err)
		for _, name := range []string{"WG", "PIXELS", "BLOCK"} {
			assert.NotRegexp(t, `(const|override) `+name+`\b`, string(text), file)
		}
	}

	// 5 rows of 13 pixels in segments of 6, 20 channels in blocks of 8, 3 frames.
	h.block = 8
	e := extent{H: 5, W: 13, C4: 5, N: 3}
	assert.Equal(t, 15, h.segments(e))
	assert.Equal(t, 16, h.across(e))
	assert.Equal(t, [3]uint32{1, 2, 3}, h.cover(e))
}

// Changing a tile's sizes in the table suffices: shaders and grids follow, and the
// results are right.
func TestOtherTiles(t *testing.T) {
	otherKernels(t)
	dev := gputest.Open(t)
	all := slices.Clone(tables)
	for i := range all {
		k := slices.Clone(all[i].kernels)
		h := slices.Clone(k[0].shaders)
		switch all[i].operation {
		case "conv3d", "conv3d_strided":
			h[0].wg, h[0].pixels = 16, 3
		case "pointwise":
			h[0].wg, h[0].pixels = 32, 5
		}
		k[0].shaders, all[i].kernels = h, k
	}
	s, err := newSet(F32, dev.Info(), nil, all)
	require.NoError(t, err)
	for name, test := range map[string]gputest.Case{
		"conv3d":    convVariant{convCase: convCase{"", 2, 13, 17, 5, 7, 1, 1, 1, true, false}}.test(s, F32),
		"strided":   convVariant{convCase: convCase{"", 2, 5, 7, 12, 20, 1, 1, 2, false, false}}.test(s, F32),
		"time_conv": timeCase{T: 3, H: 3, W: 7, C: 6, O: 5, step: 1, phases: 2}.test(s, F32),
	} {
		t.Run(name, func(t *testing.T) { test.Run(t, dev) })
	}
}

// The kernels of fewer pixels, which Adreno's cards try, are right.
func TestFewerPixels(t *testing.T) {
	otherKernels(t)
	dev := gputest.Open(t)
	assert.NotContains(t, Kernels("conv3d", F32, gpu.Info{Vendor: "amd"}), "plain4")
	s, err := NewSet(F32, gpu.Info{Vendor: "qualcomm"}, Choices{"conv3d": "plain4", "conv3d_strided": "plain2", "conv_up": "plain4"})
	require.NoError(t, err)
	for name, test := range map[string]gputest.Case{
		"conv3d":  convVariant{convCase: convCase{"", 2, 13, 17, 5, 7, 1, 1, 1, true, false}}.test(s, F32),
		"strided": convVariant{convCase: convCase{"", 2, 5, 7, 12, 20, 1, 1, 2, false, false}}.test(s, F32),
	} {
		t.Run(name, func(t *testing.T) { test.Run(t, dev) })
	}
	t.Run("conv_up", func(t *testing.T) {
		convUpCase{T: 2, h: 3, w: 7, C: 5, O: 7, kt: 2, z: 1, H: 6, W: 14}.run(t, dev, s, F32)
	})
}

// withMatrix returns the tables with a second kernel of conv3d: its weights have
// another packing, it takes only multiples of 16 channels, and it needs subgroups.
func withMatrix() []table {
	matrix := kernel{
		name: "matrix", packing: blocked(8, 16),
		shaders: []shader{{file: "plain/conv3d", taps: 3, wg: 32, pixels: 4, block: 16, grid: segmentGrid}},
		takes:   func(s Shape) bool { return s.I%16 == 0 },
		needs:   func(info gpu.Info) bool { return info.Subgroups },
	}
	all := slices.Clone(tables)
	at := slices.IndexFunc(all, func(t table) bool { return t.operation == "conv3d" })
	all[at].kernels = append(slices.Clone(all[at].kernels), matrix)
	return all
}

// A new kernel, chosen by name, determines the packing of weights, and its program is
// recorded for weights with that packing.
func TestChosenKernel(t *testing.T) {
	all := withMatrix()
	able := gpu.Info{Name: "able", Subgroups: true}
	s, err := newSet(F32, able, Choices{"conv3d": "matrix"}, all)
	require.NoError(t, err)

	wide, narrow := Shape{O: 32, I: 16, KT: 3, KS: 3}, Shape{O: 32, I: 12, KT: 3, KS: 3}
	packing := s.ConvPacking(wide, 1)
	require.Equal(t, "in blocks of 8x16", packing.String())
	require.Equal(t, 32*16*27, packing.Size(wide))
	require.Same(t, blocks4x8, s.ConvPacking(narrow, 1), "of channels that it can't take")
	require.Same(t, blocks4x8, s.ConvPacking(wide, 2), "with a stride")
	require.Same(t, blocks4x8, s.PointwisePacking(Shape{O: 32, I: 16, KT: 1, KS: 1}))

	record := func(s *Set, p *Packing) gpu.Command {
		x := Tensor{Buffer: &gpu.Buffer{Label: "x", Size: 1 << 20}, T: 3, H: 2, W: 9, C: 16}
		y := Tensor{Buffer: &gpu.Buffer{Label: "y", Size: 1 << 20}, T: 1, H: 2, W: 9, C: 32}
		w := Weights{Weight: &gpu.Buffer{Label: "weight", Size: 1 << 20}, Bias: &gpu.Buffer{Label: "bias", Size: 128}, Packing: p}
		b := &gpu.Batch{}
		s.Conv3D(b, "a layer", Conv3D{Weights: w, KT: 3, Taps: []Tap{{x, 1}, {x, 2}}, Step: 1, Stride: 1, Y: y, N: 1})
		return b.Commands[0]
	}
	// Pixels by 4 in 6 segments, channels by 16 in 2 blocks, in workgroups of 8x4.
	got := record(s, packing)
	require.Equal(t, [3]uint32{1, 1, 1}, got.Groups)
	require.Contains(t, got.Program.Source, "const PIXELS: u32 = 4;\nconst BLOCK: u32 = 16;\n")
	tap := 9 * 16 * 16 / 4                    // vec4s of a temporal tap in a block of 16
	require.Equal(t, gpu.Params(conv3dParams{ // views begin 128 bytes before frame 1, and at frame 2
		H_in: 2, W_in: 9, H: 2, W: 9, C_in4: 4, C_out4: 8, Top: -1, Left: -1, X0_at: 8, X1_at: 0, X2_at: 0, X_stride: 72,
		Weight_at: uint32(tap), Weight_stride: uint32(3 * tap), Y_stride: 144, Segments: 6, Across: 8,
	})[16:], got.Params[16:])

	// Other weights keep the plain kernel in the same set.
	plainly := record(s, blocks4x8)
	require.Contains(t, plainly.Program.Source, "const PIXELS: u32 = 8;\nconst BLOCK: u32 = 8;\n")
	require.NotSame(t, got.Program, plainly.Program)
	require.Same(t, got.Program, record(s, packing).Program, "recorded again")

	// Not chosen, it comes after the plain kernel and still takes its own weights.
	s, err = newSet(F32, able, nil, all)
	require.NoError(t, err)
	require.Same(t, blocks4x8, s.ConvPacking(wide, 1))
	require.Contains(t, record(s, packing).Program.Source, "const BLOCK: u32 = 16;")

	// On an adapter that can't run it, its weights are a bug.
	s, err = newSet(F32, gpu.Info{Name: "plain"}, nil, all)
	require.NoError(t, err)
	require.Same(t, blocks4x8, s.ConvPacking(wide, 1))
	require.PanicsWithValue(t,
		"wgsl: a layer: no kernel of conv3d for weights in blocks of 8x16: there are kernels plain (weights in blocks of 4x8) tiled (weights in blocks of 4x8)",
		func() { record(s, packing) })
	require.PanicsWithValue(t,
		"wgsl: a layer: no kernel of conv3d for weights none: there are kernels plain (weights in blocks of 4x8) tiled (weights in blocks of 4x8)",
		func() { record(s, nil) })
}

// NVIDIA's cards use the kernels that are tiled in shared memory, except for weights
// that leave most of a workgroup idle; other adapters use them by choice.
func TestDefaultKernel(t *testing.T) {
	wide, narrow, few := Shape{O: 32, I: 16, KT: 3, KS: 3}, Shape{O: 24, I: 64, KT: 3, KS: 3}, Shape{O: 64, I: 12, KT: 3, KS: 3}
	packings := func(s *Set, at Shape) []*Packing {
		return []*Packing{s.ConvPacking(at, 1), s.ConvPacking(at, 2), s.PointwisePacking(at)}
	}
	plainly, tiled := []*Packing{blocks4x8, blocks4x8, blocks4x8}, []*Packing{tiled4x8, tiled4x8, tiled4x8}
	for _, c := range []struct {
		info    gpu.Info
		choices Choices
		want    []*Packing
	}{
		{gpu.Info{}, nil, plainly},
		{gpu.Info{Vendor: "amd", Type: "discrete"}, nil, plainly},
		{gpu.Info{Vendor: "nvidia", Type: "discrete"}, nil, tiled},
		{gpu.Info{Vendor: "nvidia"}, Choices{"conv3d": "plain", "conv3d_strided": "plain", "pointwise": "plain"}, plainly},
		{gpu.Info{}, Choices{"conv3d": "tiled", "conv3d_strided": "tiled", "pointwise": "tiled"}, tiled},
	} {
		s, err := NewSet(F32, c.info, c.choices)
		require.NoError(t, err)
		for i, p := range packings(s, wide) {
			assert.Same(t, c.want[i], p, "%+v %v", c.info, c.choices)
		}
		for _, at := range []Shape{narrow, few} {
			for i, p := range packings(s, at) {
				assert.Same(t, plainly[i], p, "%+v %v %v", c.info, c.choices, at)
			}
		}
	}
	assert.Equal(t, []string{"plain", "tiled"}, Kernels("conv3d", F16, gpu.Info{}))
}

// Cards run different texts than processors: loops that store are unrolled, and on some
// cards workgroups share loads.
func TestAsOnCards(t *testing.T) {
	otherKernels(t)
	dev := gputest.Open(t)
	for _, name := range []string{"plain", "tiled"} {
		s, err := NewSet(F32, gpu.Info{Type: "discrete"}, Choices{"conv3d": name, "conv3d_strided": name, "pointwise": name})
		require.NoError(t, err)
		for operation, test := range map[string]gputest.Case{
			"conv3d":    convVariant{convCase: convCase{"", 2, 5, 11, 20, 40, 3, 1, 1, true, false}, zeros: true, y0: 1, x0: -2, h: 7, w: 9}.test(s, F32),
			"strided":   convVariant{convCase: convCase{"", 2, 5, 7, 20, 36, 3, 2, 2, false, false}}.test(s, F32),
			"time_conv": timeCase{T: 3, H: 3, W: 25, C: 20, O: 20, step: 1, phases: 2}.test(s, F32),
		} {
			t.Run(operation+"/"+name, func(t *testing.T) { test.Run(t, dev) })
		}
		if name == "plain" {
			t.Run("attention", func(t *testing.T) {
				n := 2 * 7 * 11 * 36
				checkAttention(t, dev, s, Attention{Queries: 16, Keys: 8}, 2, 7, 11, 36,
					random(1, n, 0, 1), random(2, n, 0, 1), random(3, n, 0.5, 1), boundSum)
			})
		}
	}
}

// row returns a kernel of a table.
func row(t testing.TB, operation, name string) kernel {
	for _, table := range tables {
		for _, k := range table.kernels {
			if table.operation == operation && k.name == name {
				return k
			}
		}
	}
	require.Fail(t, "no such row", "%s of %s", name, operation)
	return kernel{}
}

// shaderFiles lists all shaders, as folder and name.
func shaderFiles(t testing.TB) []string {
	files, err := fs.Glob(texts, "*/*.wgsl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i := range files {
		files[i] = strings.TrimSuffix(files[i], ".wgsl")
	}
	return files
}
