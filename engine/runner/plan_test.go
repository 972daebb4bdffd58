package runner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// doubling is a decoder whose pixels are half a cell: a causal convolution at the
// latent's size, then one that enlarges.
type doubling struct{ inner, outer *engine.Conv }

func (d doubling) Inner() engine.Module { return d.inner }
func (d doubling) Outer() engine.Module { return d.outer }
func (d doubling) Width() int           { return d.inner.Out }

// Halo of a pixel is its cell and the cell's neighbours.
func (d doubling) Halo(out tiling.Rect, _, frame tiling.Size) (tiling.Rect, engine.Windows, tiling.Rect) {
	in := tiling.Rect{
		Y0: max((out.Y0-1)>>1, 0), Y1: min(out.Y1/2+1, frame.H/2), X0: max((out.X0-1)>>1, 0), X1: min(out.X1/2+1, frame.W/2),
	}
	w := engine.Window{Y: out.Y0 - 2*in.Y0, X: out.X0 - 2*in.X0, H: out.Size().H, W: out.Size().W}
	return in, engine.Windows{d.outer.Name: w}, tiling.Rect{Y1: w.H, X1: w.W}
}

// job decodes five frames of h x w cells.
func job(t *testing.T, h, w int) *engine.Job {
	t.Helper()
	set, err := wgsl.NewSet(wgsl.F32, gpu.Info{}, nil)
	require.NoError(t, err)
	weights := engine.NewWeights(set, wgsl.F32)
	d := doubling{
		&engine.Conv{Name: "inner", Weights: weights.Conv("inner", wgsl.Shape{O: 16, I: 4, KT: 3, KS: 3}, 1), Out: 16, Time: engine.Causal{Kernel: 3}},
		&engine.Conv{Name: "outer", Weights: weights.Conv("outer", wgsl.Shape{O: 3, I: 16, KT: 1, KS: 3}, 1), Out: 3, Enlarge: true},
	}
	return &engine.Job{
		Direction: engine.Direction{
			Name: "decode", In: 1, Out: 2, InFrames: 1, OutFrames: 1, InPatch: 1, OutPatch: 1, InChannels: 4, OutChannels: 3,
			First: func(step int) int { return 1 + step },
		},
		Network: &engine.Network{
			Name: "decoder", Whole: engine.Series{d.inner, d.outer}, Parts: d, Weights: weights, Tilings: []engine.Tiling{engine.Exact, engine.Feather},
		},
		Kernels: engine.Kernels{Activations: set, Plain: set}, Adapter: gpu.Info{Limits: gpu.DefaultLimits},
		Frames: 5, Height: h, Width: w,
	}
}

func plan(t *testing.T, j *engine.Job, o engine.Options) *engine.Plan {
	t.Helper()
	p, err := engine.NewPlan(t.Context(), j, o)
	require.NoError(t, err)
	return p
}

// cut returns options with tiles of 64 pixels.
func cut(how engine.Tiling) engine.Options {
	return engine.Options{Tiling: how, Tile: tiling.Choice{Tile: tiling.Square(64)}, Overlap: tiling.Square(16)}
}

// The first pass of exact tiles stores frames, the second reads the rectangles that it
// needs.
func TestPassesMeet(t *testing.T) {
	p := plan(t, job(t, 60, 70), cut(engine.Exact))
	b, inner, outer := p.Work.Intermediate, p.Work.Passes[0], p.Work.Last()
	spool := make(inMemory, b.Spool.Bytes)
	r := &run{plan: p, work: &p.Work, spools: spools{b.Spool: spool}}
	frame := b.Size.H * b.Size.W * b.Pixel
	frames := numbered(b.Frames * frame)
	for f := range b.Frames {
		step := b.Store(inner, engine.TileFrame{X: inner.Recorded[0][0].Out, Frame: f}).(*engine.Download)
		require.NoError(t, r.sink(step.To).put(frames[f*frame:][:frame]))
	}
	require.Equal(t, inMemory(frames), spool)
	const i = 4
	s := outer.Slices[1]
	in := outer.Tiles[i].In
	got := make([]byte, s.N*in.Size().H*in.Size().W*b.Pixel)
	r.at = place{pass: outer, tile: i, slice: s}
	require.NoError(t, r.get(b, got))
	var want []byte
	for f := s.T; f < s.T+s.N; f++ {
		for y := in.Y0; y < in.Y1; y++ {
			row := frames[f*frame+y*b.Size.W*b.Pixel:]
			want = append(want, row[in.X0*b.Pixel:in.X1*b.Pixel]...)
		}
	}
	require.Equal(t, want, got)
}

// Progress grows to one, through both passes.
func TestProgressGrows(t *testing.T) {
	for _, how := range []engine.Tiling{engine.Feather, engine.Exact} {
		p := plan(t, job(t, 60, 70), cut(how))
		last, flops := 0.0, 0.0
		for n, w := range p.Work.Passes {
			for i := range w.Tiles {
				for k, s := range w.Slices {
					before := progress(p, place{w, n, i, i, s, k}, 0, flops+0.5)
					require.Greater(t, before.Done, last, "%s: within a slice: %+v", how, before)
					flops += float64(w.At(i, s).Cost.FLOPs)
					v := progress(p, place{w, n, i, i, s, k}, 1, flops)
					require.Greater(t, v.Done, last, "%s: %+v", how, v)
					require.LessOrEqual(t, v.Tile, v.Tiles)
					last = v.Done
				}
			}
		}
		require.InDelta(t, 1, last, 1e-12, how)
	}
}
