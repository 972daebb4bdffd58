package vae

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tiling"
)

// noiseLatent is a latent of the small configuration.
func noiseLatent(frames, h, w int) Latent {
	wide := make([]float64, 4*frames*h*w)
	synthetic.Fill("noise", wide)
	z := Latent{Channels: 4, Frames: frames, Height: h, Width: w, Data: make([]float32, len(wide))}
	for i, v := range wide {
		z.Data[i] = float32(v)
	}
	return z
}

// noiseClip is a clip in memory.
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

// encodeWatched is encodeAll with someone who is told.
func encodeWatched(t *testing.T, m *Model, c Clip, o EncodeOptions, w Watch) []float32 {
	t.Helper()
	h, width := c.Size()
	p, err := m.PlanEncode(c.Frames(), h, width, o)
	if err != nil {
		t.Fatal(err)
	}
	z, err := p.Collect(context.Background(), c, w)
	if err != nil {
		t.Fatal(err)
	}
	return z.Data
}

// Cutting a clip into slices does not change it: whole, the reference's chunk
// and larger ones, with and without a remainder.
func TestChunksAreTheSameFunction(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	z, clip := noiseLatent(6, 2, 3), noiseClip(21, 16, 24)
	whole := Options{Chunk: 10}
	wantVideo := decodeAll(t, m, z, DecodeOptions{Options: whole})
	wantLatent := encodeAll(t, m, clip, EncodeOptions{Options: whole})
	for _, chunk := range []int{0, 1, 2, 3, 4} {
		got := nmse(decodeAll(t, m, z, DecodeOptions{Options: Options{Chunk: chunk}}), wantVideo)
		if !(got <= 1e-11) {
			t.Errorf("decode in chunks of %d: NMSE %.3g from the whole", chunk, got)
		}
		got = nmse(encodeAll(t, m, clip, EncodeOptions{Options: Options{Chunk: chunk}}), wantLatent)
		if !(got <= 1e-11) {
			t.Errorf("encode in chunks of %d: NMSE %.3g from the whole", chunk, got)
		}
	}
}

func TestOneTileIsUntiled(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	z := noiseLatent(3, 3, 4)
	want := decodeAll(t, m, z, DecodeOptions{})
	tiled := Options{Tile: tiling.Choice{Tile: tiling.Square(32)}, Overlap: tiling.Square(16)}
	if got := decodeAll(t, m, z, DecodeOptions{Options: tiled}); !slices.Equal(got, want) {
		t.Error("one tile differs from untiled")
	}
}

// A canvas in a file gives the same bits as one on the device.
func TestSpooledBlend(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	z, clip := noiseLatent(3, 5, 6), noiseClip(9, 40, 48)
	o := Options{Tile: tiling.Choice{Tile: tiling.Square(24)}, Overlap: tiling.Square(8)}
	tight := o
	l, err := m.PlanDecode(3, 5, 6, DecodeOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	if l.Spool != 0 || l.Canvas == 0 {
		t.Fatalf("with room to spare the canvas is spooled: %d bytes, %d on the device", l.Spool, l.Canvas)
	}
	tight.Budget = l.Bytes() - 1
	if l, err = m.PlanDecode(3, 5, 6, DecodeOptions{Options: tight}); err != nil || l.Spool == 0 {
		t.Fatalf("without room nothing is spooled: %+v, %v", l, err)
	}
	before := tempFiles(t)
	if !slices.Equal(decodeAll(t, m, z, DecodeOptions{Options: tight}), decodeAll(t, m, z, DecodeOptions{Options: o})) {
		t.Error("decode: spooled and resident blends differ")
	}
	e, err := m.PlanEncode(9, 40, 48, EncodeOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	tight.Budget = e.Bytes() - 1
	if !slices.Equal(encodeAll(t, m, clip, EncodeOptions{Options: tight}), encodeAll(t, m, clip, EncodeOptions{Options: o})) {
		t.Error("encode: spooled and resident blends differ")
	}
	if after := tempFiles(t); len(after) > len(before) {
		t.Errorf("left behind: %v", after)
	}
}

func tempFiles(t *testing.T) []string {
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "tessera-blend-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// After the first steady slice of the first tile nothing is made any more.
func TestPlansAreReplayed(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	var stats []gpu.Stats
	watch := func(Progress) { stats = append(stats, dev.Stats()) }
	decodeWatched(t, m, noiseLatent(6, 2, 3), DecodeOptions{}, Watch{Progress: watch})
	check := func(what string, from, to gpu.Stats) {
		if from.Pipelines != to.Pipelines || from.BindGroups != to.BindGroups || from.Buffers != to.Buffers {
			t.Errorf("%s: made pipelines, bind groups or buffers: %+v, then %+v", what, from, to)
		}
	}
	if len(stats) != 5 {
		t.Fatalf("%d slices, want 5", len(stats))
	}
	check("steady slices", stats[1], stats[4])

	// 3 x 3 tiles of one shape. The last one normalises too.
	stats = nil
	o := Options{Tile: tiling.Choice{Tile: tiling.Square(16)}}
	decodeWatched(t, m, noiseLatent(1, 6, 6), DecodeOptions{Options: o}, Watch{Progress: watch})
	if len(stats) != 9 {
		t.Fatalf("%d tiles, want 9", len(stats))
	}
	check("tiles", stats[0], stats[7])
}

func TestPaddingIsUndone(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	clip := noiseClip(7, 13, 21)
	z, err := m.Encode(context.Background(), clip, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if z.Frames != 3 || z.Height != 2 || z.Width != 3 {
		t.Fatalf("latent of %d frames of %dx%d", z.Frames, z.Height, z.Width)
	}
	n := 0
	for f, err := range m.Decode(context.Background(), z, DecodeOptions{Frames: 7, Height: 13, Width: 21}) {
		if err != nil {
			t.Fatal(err)
		}
		if f.Index != n || f.Height != 13 || f.Width != 21 || len(f.Pixels) != 3*13*21 {
			t.Fatalf("frame %d is %dx%d at index %d", n, f.Height, f.Width, f.Index)
		}
		n++
	}
	if n != 7 {
		t.Errorf("%d frames, want 7", n)
	}

	// What was padded is what a caller would have padded: two frames mirrored,
	// the last row and column repeated.
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
	if !slices.Equal(encodeAll(t, m, padded, EncodeOptions{}), z.Data) {
		t.Error("padded by the encoder and by hand differ")
	}
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
		if !slices.Equal(got, c.want) {
			t.Errorf("%d frames to %d: %v, want %v", c.n, c.padded, got, c.want)
		}
	}
}

func TestSamples(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	clip := noiseClip(5, 16, 16)
	mean := encodeAll(t, m, clip, EncodeOptions{})
	moments := encodeAll(t, m, clip, EncodeOptions{Moments: true})
	for i := range mean {
		if want := moments[i] * 0.9152; math.Abs(float64(mean[i]-want)) > 1e-6 {
			t.Fatalf("latent %d is %v, want the scaled mean %v", i, mean[i], want)
		}
	}
	a := encodeAll(t, m, clip, EncodeOptions{Sample: true, Seed: 7})
	if !slices.Equal(a, encodeAll(t, m, clip, EncodeOptions{Sample: true, Seed: 7, Options: Options{Chunk: 4}})) {
		t.Error("the same seed gave another sample")
	}
	if slices.Equal(a, encodeAll(t, m, clip, EncodeOptions{Sample: true, Seed: 8})) {
		t.Error("another seed gave the same sample")
	}
	if slices.Equal(a, mean) {
		t.Error("the sample is the mean")
	}
}

func TestStoppingEarly(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, smallCheckpoint(t), F32)
	z := noiseLatent(5, 2, 3)
	for f, err := range m.Decode(context.Background(), z, DecodeOptions{}) {
		if err != nil || f.Index > 1 {
			t.Fatal(f.Index, err)
		}
		if f.Index == 1 {
			break
		}
	}
	if held, want := dev.Stats().Bytes, m.decoder.net.Weights.Bytes(); held != want {
		t.Errorf("%d bytes held after leaving the loop, weights are %d", held, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p, err := m.PlanDecode(z.Frames, z.Height, z.Width, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range p.Run(ctx, z, Watch{Progress: func(p Progress) {
		if p.Slice == 2 {
			cancel()
		}
	}}) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("cancelled: %v", last)
	}
	if held, want := dev.Stats().Bytes, m.decoder.net.Weights.Bytes(); held != want {
		t.Errorf("%d bytes held after a cancel, weights are %d", held, want)
	}
}

func TestBudgets(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits, Type: "discrete", Memory: 8 << 30}
	a.Limits.MaxBuffer = 4 << 30
	m, err := Inspect(smallCheckpoint(t), a, Settings{Precision: F32})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tile := func(side int) Options {
		return Options{Tile: tiling.Choice{Tile: tiling.Square(side)}, Overlap: tiling.Square(64)}
	}
	big, err := m.PlanDecode(3, 90, 160, DecodeOptions{Options: tile(512)})
	if err != nil {
		t.Fatal(err)
	}
	tight := tile(512)
	tight.Budget = big.Weights + big.Activations/2
	if _, err := m.PlanDecode(3, 90, 160, DecodeOptions{Options: tight}); !errors.Is(err, ErrMemory) {
		t.Errorf("a tile beyond the budget: %v", err)
	}
	tight.Shrink = true
	l, err := m.PlanDecode(3, 90, 160, DecodeOptions{Options: tight})
	if err != nil || !l.Shrunk || l.Bytes() > tight.Budget || l.Tile.H >= 512 || l.Tile.H < 64 {
		t.Errorf("shrunk to %+v in %d of %d bytes: %v", l.Tile, l.Bytes(), tight.Budget, err)
	}
	auto := Options{Tile: tiling.Choice{Auto: true}, Overlap: tiling.Square(64), Budget: tight.Budget}
	if same, err := m.PlanDecode(3, 90, 160, DecodeOptions{Options: auto}); err != nil || same.Tile != l.Tile || same.Shrunk {
		t.Errorf("auto chose %v, %v", same.Tile, err)
	}
	// A clip narrower than the overlap is no obstacle.
	narrow := Options{Tile: tiling.Choice{Auto: true}, Overlap: tiling.Square(64), Budget: l.Bytes()}
	if small, err := m.PlanDecode(3, 5, 7, DecodeOptions{Options: narrow}); err != nil || !small.Tiles.Whole() {
		t.Errorf("auto on a small clip: %v", err)
	}
	if strip, err := m.PlanDecode(3, 5, 700, DecodeOptions{Options: narrow}); err != nil || strip.Tiles.Whole() {
		t.Errorf("auto on a strip: %v", err)
	}
	auto.Budget = 1 << 20
	if _, err := m.PlanDecode(3, 90, 160, DecodeOptions{Options: auto}); !errors.Is(err, tiling.ErrBudget) {
		t.Errorf("no tile fits: %v", err)
	}
	// At WebGPU's default limits a frame of the first stage must stay below
	// 128 MiB a binding; an untiled 4K frame does not.
	if _, err := m.PlanDecode(1, 270, 480, DecodeOptions{Options: Options{Budget: 1 << 40}}); !errors.Is(err, gpu.ErrTooLarge) || !strings.Contains(err.Error(), "decoder.") {
		t.Errorf("untiled 4K at default limits: %v", err)
	}
	// Memory does not grow with the length of the clip.
	short, _ := m.PlanDecode(3, 8, 8, DecodeOptions{})
	long, err := m.PlanDecode(300, 8, 8, DecodeOptions{})
	if err != nil || long.Bytes() != short.Bytes() {
		t.Errorf("3 latent frames take %d bytes, 300 take %d: %v", short.Bytes(), long.Bytes(), err)
	}
}

func TestUnfitCheckpoints(t *testing.T) {
	table := synthetic.SeedVR2([]int{32, 64, 96, 96}, 4)
	write := func(edit func(name string, shape []int) (string, []int)) string {
		t.Helper()
		f, err := os.CreateTemp(t.TempDir(), "*.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var specs []safetensors.Spec
		for _, s := range table {
			if name, shape := edit(s.Name, slices.Clone(s.Shape)); name != "" {
				specs = append(specs, safetensors.Spec{Name: name, DType: safetensors.F16, Shape: shape})
			}
		}
		w, err := safetensors.NewWriter(f, specs, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range specs {
			n := 1
			for _, d := range s.Shape {
				n *= d
			}
			if err := w.Begin(s.Name); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(make([]byte, 2*n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	keep := func(name string, shape []int) (string, []int) { return name, shape }
	a := gpu.Info{Limits: gpu.DefaultLimits}
	if m, err := Inspect(write(keep), a, Settings{Precision: F32}); err != nil {
		t.Fatal(err)
	} else {
		m.Close()
	}
	_, err := Inspect(write(func(name string, shape []int) (string, []int) {
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
	for _, want := range []string{
		"2 missing: ", "decoder.conv_norm_out.weight", "encoder.mid_block.attentions.0.to_q.bias; ",
		"1 of another shape: decoder.conv_out.bias is [7], expected [3]",
		"1 unknown: encoder.mid_block.attentions.0.to_q.bias.extra",
	} {
		if err == nil || !strings.Contains(err.Error()+"; ", want) {
			t.Errorf("message lacks %q: %v", want, err)
		}
	}
	_, err = Inspect(write(func(name string, shape []int) (string, []int) { return "other." + name, shape }), a, Settings{Precision: F32})
	if !errors.Is(err, ErrUnknownModel) {
		t.Errorf("another model: %v", err)
	}
	// The names of older files.
	old := strings.NewReplacer("to_q", "query", "to_k", "key", "to_v", "value", "to_out.0", "proj_attn")
	m, err := Inspect(write(func(name string, shape []int) (string, []int) { return old.Replace(name), shape }), a, Settings{Precision: F32})
	if err != nil {
		t.Errorf("old attention names: %v", err)
	} else {
		m.Close()
	}
}
