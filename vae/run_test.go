package vae

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tiling"
)

// noiseLatent returns a latent of the small configuration.
func noiseLatent(frames, h, w int) Latent {
	wide := make([]float64, 4*frames*h*w)
	synthetic.Fill("noise", wide)
	z := Latent{Channels: 4, Frames: frames, Height: h, Width: w, Data: make([]float32, len(wide))}
	for i, v := range wide {
		z.Data[i] = float32(v)
	}
	return z
}

// noiseClip returns a clip in memory.
func noiseClip(frames, h, w int) floats {
	wide := make([]float64, 3*frames*h*w)
	synthetic.Fill("noise", wide)
	c := floats{frames, h, w, make([]float32, len(wide))}
	for i, v := range wide {
		c.v[i] = float32(v)
	}
	return c
}

func encodeAll(t *testing.T, m *Model, c Clip, o EncodeOptions) []float32 {
	t.Helper()
	return encodeWatched(t, m, c, o, Watch{})
}

// framesOf returns the pixels of all frames.
func framesOf(run iter.Seq2[Frame, error]) (all []float32, err error) {
	for f, err := range run {
		if err != nil {
			return all, err
		}
		all = append(all, f.Pixels...)
	}
	return all, nil
}

// encodeWatched is encodeAll with callbacks.
func encodeWatched(t *testing.T, m *Model, c Clip, o EncodeOptions, w Watch) []float32 {
	t.Helper()
	h, width := c.Size()
	p, err := m.PlanEncode(t.Context(), c.Frames(), h, width, o)
	require.NoError(t, err)
	z, err := p.Collect(context.Background(), c, w)
	require.NoError(t, err)
	return z.Data
}

// Cutting a clip into slices does not change the result: whole, with the reference's
// chunk and larger ones, with and without a remainder.
func TestChunksAreTheSameFunction(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	z, clip := noiseLatent(6, 2, 3), noiseClip(21, 16, 24)
	whole := Options{Chunk: 10}
	wantVideo := decodeAll(t, m, z, DecodeOptions{Options: whole})
	wantLatent := encodeAll(t, m, clip, EncodeOptions{Options: whole})
	for _, chunk := range []int{0, 1, 2, 3, 4} {
		o := Options{Chunk: chunk}
		t.Run(fmt.Sprintf("decode in chunks of %d", chunk), func(t *testing.T) {
			closeTo(t, decodeAll(t, m, z, DecodeOptions{Options: o}), wantVideo, 1e-11, "differs from the whole")
		})
		t.Run(fmt.Sprintf("encode in chunks of %d", chunk), func(t *testing.T) {
			closeTo(t, encodeAll(t, m, clip, EncodeOptions{Options: o}), wantLatent, 1e-11, "differs from the whole")
		})
	}
}

func TestOneTileIsUntiled(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	z := noiseLatent(3, 3, 4)
	want := decodeAll(t, m, z, DecodeOptions{})
	tiled := Options{Tile: tiling.Choice{Tile: tiling.Square(32)}, Overlap: tiling.Square(16)}
	require.True(t, slices.Equal(decodeAll(t, m, z, DecodeOptions{Options: tiled}), want), "one tile differs from untiled")
}

// A canvas in a file gives the same bits as one on the device.
func TestSpooledBlend(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	z, clip := noiseLatent(3, 5, 6), noiseClip(9, 40, 48)
	o := Options{Tile: tiling.Choice{Tile: tiling.Square(24)}, Overlap: tiling.Square(8)}
	tight := o
	l, err := m.PlanDecode(t.Context(), 3, 5, 6, DecodeOptions{Options: o})
	require.NoError(t, err)
	require.Zero(t, l.Spool, "with room to spare the canvas is spooled")
	require.NotZero(t, l.Canvas, "with room to spare no canvas is on the device")
	tight.Budget = l.Bytes() - l.Staging - 1
	l, err = m.PlanDecode(t.Context(), 3, 5, 6, DecodeOptions{Options: tight})
	require.NoError(t, err)
	require.NotZero(t, l.Spool, "without room nothing is spooled")
	dir := ownTemp(t)
	require.True(t, slices.Equal(decodeAll(t, m, z, DecodeOptions{Options: tight}), decodeAll(t, m, z, DecodeOptions{Options: o})),
		"decode: spooled and resident blends differ")
	e, err := m.PlanEncode(t.Context(), 9, 40, 48, EncodeOptions{Options: o})
	require.NoError(t, err)
	tight.Budget = e.Bytes() - e.Staging - 1
	require.True(t, slices.Equal(encodeAll(t, m, clip, EncodeOptions{Options: tight}), encodeAll(t, m, clip, EncodeOptions{Options: o})),
		"encode: spooled and resident blends differ")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "spools left behind")
}

// ownTemp gives the test a separate folder for temporary files.
func ownTemp(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP"} { // on Unix, on Windows
		t.Setenv(name, dir)
	}
	return dir
}

// After the first steady slice of the first tile nothing new is created.
func TestPlansAreReplayed(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	var stats []gpu.Stats
	slices := 0 // finished slices
	watch := func(p Progress) {
		if done := p.Tile*p.Slices + p.Slice%p.Slices; done > slices { // not within a slice
			slices = done
			stats = append(stats, dev.Stats())
		}
	}
	decodeWatched(t, m, noiseLatent(6, 2, 3), DecodeOptions{}, Watch{Progress: watch})
	check := func(what string, from, to gpu.Stats) {
		require.Equal(t, from.Pipelines, to.Pipelines, "%s made pipelines", what)
		require.Equal(t, from.BindGroups, to.BindGroups, "%s made bind groups", what)
		require.Equal(t, from.Buffers, to.Buffers, "%s made buffers", what)
	}
	require.Len(t, stats, 5, "slices")
	check("steady slices", stats[1], stats[4])

	// 3 x 3 tiles of one shape. The last tile also normalises.
	stats, slices = nil, 0
	o := Options{Tile: tiling.Choice{Tile: tiling.Square(16)}}
	decodeWatched(t, m, noiseLatent(1, 6, 6), DecodeOptions{Options: o}, Watch{Progress: watch})
	require.Len(t, stats, 9, "tiles")
	check("tiles", stats[0], stats[7])
}

// Progress advances within a slice, with what the device has done of it.
func TestProgressWithinSlices(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	last, within, frames := -1.0, 0, map[int]bool{}
	decodeWatched(t, m, noiseLatent(2, 8, 8), DecodeOptions{}, Watch{Progress: func(p Progress) {
		require.Greater(t, p.Done, last, "%+v", p)
		require.LessOrEqual(t, p.Done, 1.0, "%+v", p)
		last = p.Done
		if p.Slice == 0 {
			frames[p.Frame] = true
			within++
		}
	}})
	require.Equal(t, 1.0, last, "at the end")
	require.Equal(t, map[int]bool{0: true, 1: true}, frames, "frames done of the first slice, of two")
	require.GreaterOrEqual(t, within, 5, "times that it was told within the first slice")
}

// Shaders are compiled before the first tile, except the few that download the result;
// the next job compiles none.
func TestCompiledBeforeTheFirstTile(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	compiled, all, early := 0, 0, false
	w := Watch{
		Compiling: func(done, of int) { compiled, all = done, of },
		Progress:  func(Progress) { early = early || compiled < all },
	}
	before := dev.Stats().Pipelines
	decodeWatched(t, m, noiseLatent(3, 4, 4), DecodeOptions{}, w)
	require.Positive(t, all, "shaders")
	require.Equal(t, all, compiled)
	require.False(t, early, "a tile ran before all was compiled")
	require.LessOrEqual(t, dev.Stats().Pipelines-before-all, 4, "compiled later")
	compiled, all = 0, 0
	decodeWatched(t, m, noiseLatent(3, 4, 4), DecodeOptions{}, w)
	require.Zero(t, all, "shaders of the second job")
}

// A measured speed is reproducible: a second measurement is about equal.
func TestSpeed(t *testing.T) {
	m := open(t, gputest.Open(t), smallCheckpoint(t), F32)
	before := m.dev.Stats().Bytes
	var least, most float64
	for i := range 3 {
		v, err := m.Speed(t.Context())
		require.NoError(t, err)
		t.Logf("%.3g FLOP/s", v)
		if most = max(most, v); i == 0 {
			least = v
		}
		least = min(least, v)
	}
	require.Greater(t, least, 1e8)
	require.Less(t, most, 1e15)
	require.Less(t, most/least, 5.0, "between the slowest and the fastest of three")
	for _, p := range []Precision{F32, F16} { // without a model
		v, err := Speed(t.Context(), m.dev, p)
		require.NoError(t, err, p)
		require.Greater(t, v, 1e8, p)
	}
	require.Equal(t, before, m.dev.Stats().Bytes, "bytes held")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := m.Speed(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestPaddingIsUndone(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	clip := noiseClip(7, 13, 21)
	z, err := m.Encode(context.Background(), clip, EncodeOptions{})
	require.NoError(t, err)
	require.Equal(t, [3]int{3, 2, 3}, [3]int{z.Frames, z.Height, z.Width}, "frames, height and width of the latent")
	n := 0
	for f, err := range m.Decode(context.Background(), z, DecodeOptions{Frames: 7, Height: 13, Width: 21}) {
		require.NoError(t, err, "frame %d", n)
		require.Equal(t, [3]int{n, 13, 21}, [3]int{f.Index, f.Height, f.Width}, "index, height and width of frame %d", n)
		require.Len(t, f.Pixels, 3*13*21, "frame %d", n)
		n++
	}
	require.Equal(t, 7, n, "frames")

	// The padding equals a caller's: two mirrored frames, the last row and column
	// repeated.
	padded := floats{9, 16, 24, make([]float32, 3*9*16*24)}
	for c := range 3 {
		for t, from := range []int{0, 1, 2, 3, 4, 5, 6, 5, 4} {
			for y := range 16 {
				for x := range 24 {
					padded.v[((c*9+t)*16+y)*24+x] = clip.v[((c*7+from)*13+min(y, 12))*21+min(x, 20)]
				}
			}
		}
	}
	require.True(t, slices.Equal(encodeAll(t, m, padded, EncodeOptions{}), z.Data), "padded by the encoder and by hand differ")
}

// The published pipeline's rule, written out for its two cases.
func TestMirroredFrames(t *testing.T) {
	for _, c := range []struct {
		n, padded int
		want      []int
	}{
		{5, 5, []int{0, 1, 2, 3, 4}},
		{6, 9, []int{0, 1, 2, 3, 4, 5, 4, 3, 2}},
		{3, 5, []int{0, 1, 2, 1, 0}},
		{2, 5, []int{0, 1, 1, 1, 1}}, // f0 f1 | f1 f1 f1
	} {
		var got []int
		for i := range c.padded {
			got = append(got, mirrored(i, c.n, c.padded))
		}
		assert.Equal(t, c.want, got, "%d frames to %d", c.n, c.padded)
	}
}

func TestSamples(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	clip := noiseClip(5, 16, 16)
	mean := encodeAll(t, m, clip, EncodeOptions{})
	moments := encodeAll(t, m, clip, EncodeOptions{Moments: true})
	require.Len(t, moments, 2*len(mean))
	scaled := make([]float32, len(mean))
	for i := range scaled {
		scaled[i] = moments[i] * 0.9152
	}
	require.InDeltaSlice(t, scaled, mean, 1e-6, "the latent is the scaled mean")
	a := encodeAll(t, m, clip, EncodeOptions{Sample: true, Seed: 7})
	require.Equal(t, a, encodeAll(t, m, clip, EncodeOptions{Sample: true, Seed: 7, Options: Options{Chunk: 4}}), "the same seed gave another sample")
	require.NotEqual(t, a, encodeAll(t, m, clip, EncodeOptions{Sample: true, Seed: 8}), "another seed gave the same sample")
	require.NotEqual(t, a, mean, "the sample is the mean")
}

func TestStoppingEarly(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	z := noiseLatent(5, 2, 3)
	p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{})
	require.NoError(t, err)
	for f, err := range m.Decode(context.Background(), z, DecodeOptions{}) {
		require.NoError(t, err)
		require.LessOrEqual(t, f.Index, 1)
		if f.Index == 1 {
			break
		}
	}
	require.Equal(t, p.Weights, dev.Stats().Bytes, "more than the weights is held after leaving the loop")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	for _, err := range p.Run(ctx, z, Watch{Progress: func(p Progress) {
		if p.Slice == 2 {
			cancel()
		}
	}}) {
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, p.Weights, dev.Stats().Bytes, "more than the weights is held after a cancel")
}

func TestBudgets(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits, Type: "discrete", Memory: 8 << 30}
	a.Limits.MaxBuffer = 4 << 30
	m, err := Inspect(smallCheckpoint(t), a, Settings{Precision: F32})
	require.NoError(t, err)
	defer m.Close()
	tile := func(side int) Options {
		return Options{Tile: tiling.Choice{Tile: tiling.Square(side)}, Overlap: tiling.Square(64), Offload: OffloadOff}
	}
	big, err := m.PlanDecode(t.Context(), 3, 90, 160, DecodeOptions{Options: tile(512)})
	require.NoError(t, err)
	tight := tile(512)
	tight.Budget = big.Weights + big.Activations/2
	_, err = m.PlanDecode(t.Context(), 3, 90, 160, DecodeOptions{Options: tight})
	require.ErrorIs(t, err, ErrMemory, "a tile beyond the budget")
	tight.Shrink = true
	l, err := m.PlanDecode(t.Context(), 3, 90, 160, DecodeOptions{Options: tight})
	require.NoError(t, err)
	require.True(t, l.Shrunk)
	require.LessOrEqual(t, l.Bytes(), tight.Budget, "shrunk to %v", l.Tile)
	require.Less(t, l.Tile.H, 512)
	require.GreaterOrEqual(t, l.Tile.H, 64)
	auto := Options{Tile: tiling.Choice{Auto: true}, Overlap: tiling.Square(64), Budget: tight.Budget, Offload: OffloadOff}
	same, err := m.PlanDecode(t.Context(), 3, 90, 160, DecodeOptions{Options: auto})
	require.NoError(t, err)
	require.Equal(t, l.Tile, same.Tile, "auto chose another tile")
	require.False(t, same.Shrunk, "auto can't shrink")
	// A clip may be narrower than the overlap.
	narrow := Options{Tile: tiling.Choice{Auto: true}, Overlap: tiling.Square(64), Budget: l.Bytes(), Offload: OffloadOff}
	small, err := m.PlanDecode(t.Context(), 3, 5, 7, DecodeOptions{Options: narrow})
	require.NoError(t, err, "auto on a small clip")
	require.True(t, small.Tiles.Whole(), "auto on a small clip")
	strip, err := m.PlanDecode(t.Context(), 3, 5, 700, DecodeOptions{Options: narrow})
	require.NoError(t, err, "auto on a strip")
	require.False(t, strip.Tiles.Whole(), "auto on a strip")
	auto.Budget = 1 << 20
	_, err = m.PlanDecode(t.Context(), 3, 90, 160, DecodeOptions{Options: auto})
	require.ErrorIs(t, err, tiling.ErrBudget, "no tile fits")
	// At WebGPU's default limits a frame of an untiled 4K one exceeds every binding, so
	// it runs in bands, and every buffer, so it must be on the host; otherwise this is an
	// error.
	_, err = m.PlanDecode(t.Context(), 1, 270, 480, DecodeOptions{Options: Options{Budget: 1 << 40}})
	require.NoError(t, err, "untiled 4K in large buffers")
	m.info.Limits = gpu.DefaultLimits
	hosted, err := m.PlanDecode(t.Context(), 1, 270, 480, DecodeOptions{Options: Options{Budget: 1 << 40, Host: 1 << 40}})
	require.NoError(t, err, "untiled 4K at default limits, on the host")
	require.Greater(t, hosted.Host, int64(1<<30))
	_, err = m.PlanDecode(t.Context(), 1, 270, 480, DecodeOptions{Options: Options{Budget: 1 << 40, Offload: OffloadOff}})
	require.ErrorIs(t, err, gpu.ErrTooLarge, "untiled 4K at default limits")
	require.ErrorContains(t, err, "in a buffer", "untiled 4K at default limits")
	// Memory does not depend on the length of the clip.
	short, err := m.PlanDecode(t.Context(), 3, 8, 8, DecodeOptions{})
	require.NoError(t, err)
	long, err := m.PlanDecode(t.Context(), 300, 8, 8, DecodeOptions{})
	require.NoError(t, err)
	require.Equal(t, short.Bytes(), long.Bytes(), "bytes of 3 latent frames and of 300")
}

func TestUnfitCheckpoints(t *testing.T) {
	table := synthetic.SeedVR2([]int{32, 64, 96, 96}, 4)
	write := func(edit func(name string, shape []int) (string, []int)) string {
		t.Helper()
		f, err := os.CreateTemp(t.TempDir(), "*.safetensors")
		require.NoError(t, err)
		defer f.Close()
		var specs []safetensors.Spec
		for _, s := range table {
			if name, shape := edit(s.Name, slices.Clone(s.Shape)); name != "" {
				specs = append(specs, safetensors.Spec{Name: name, DType: safetensors.F16, Shape: shape})
			}
		}
		w, err := safetensors.NewWriter(f, specs, nil)
		require.NoError(t, err)
		for _, s := range specs {
			n := 1
			for _, d := range s.Shape {
				n *= d
			}
			require.NoError(t, w.Begin(s.Name))
			_, err := w.Write(make([]byte, 2*n))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		return f.Name()
	}
	keep := func(name string, shape []int) (string, []int) { return name, shape }
	a := gpu.Info{Limits: gpu.DefaultLimits}
	m, err := Inspect(write(keep), a, Settings{Precision: F32})
	require.NoError(t, err)
	require.NoError(t, m.Close())
	_, err = Inspect(write(func(name string, shape []int) (string, []int) {
		switch name {
		case "decoder.conv_norm_out.weight":
			return "", nil
		case "encoder.mid_block.attentions.0.to_q.bias":
			return name + ".extra", shape
		case "decoder.conv_out.bias":
			return name, []int{7}
		}
		return name, shape
	}), a, Settings{Precision: F32})
	require.Error(t, err)
	for _, want := range []string{
		"2 missing: ", "decoder.conv_norm_out.weight", "encoder.mid_block.attentions.0.to_q.bias; ",
		"1 of another shape: decoder.conv_out.bias is [7], expected [3]",
		"1 unknown: encoder.mid_block.attentions.0.to_q.bias.extra",
	} {
		assert.Contains(t, err.Error()+"; ", want)
	}
	_, err = Inspect(write(func(name string, shape []int) (string, []int) { return "other_" + name, shape }), a, Settings{Precision: F32})
	require.ErrorIs(t, err, ErrUnknownModel, "another model")
	// An empty tensor can claim any number of channels.
	for _, shape := range [][]int{{0, 1 << 60, 3, 3, 3}, {0, 1 << 31, 3, 3, 3}, {0, 0, 3, 3, 3}, {96, 0, 3, 3, 3}} {
		_, err = Inspect(write(func(name string, was []int) (string, []int) {
			if name == "decoder.conv_in.weight" {
				return name, shape
			}
			return name, was
		}), a, Settings{Precision: F32})
		require.ErrorIs(t, err, ErrBadModel, "%v", shape)
		require.ErrorContains(t, err, "tensor decoder.conv_in.weight has shape ["+strings.Trim(fmt.Sprint(shape), "[]")+"], expected 1 to 65536 along axis 1")
	}
	// The names in older files.
	old := strings.NewReplacer("to_q", "query", "to_k", "key", "to_v", "value", "to_out.0", "proj_attn")
	m, err = Inspect(write(func(name string, shape []int) (string, []int) { return old.Replace(name), shape }), a, Settings{Precision: F32})
	require.NoError(t, err, "old attention names")
	require.NoError(t, m.Close())
}
