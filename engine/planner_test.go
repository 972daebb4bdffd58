package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// doubling is a decoder whose pixels are half a cell: a causal convolution at the
// latent's size and a wide pointwise layer, then one that enlarges, and a product.
type doubling struct {
	inner, outer Series
	enlarge      *Conv
	width        int
}

func (d doubling) Inner() Module { return d.inner }
func (d doubling) Outer() Module { return d.outer }
func (d doubling) Width() int    { return d.width }

// Halo of a pixel is its cell and the cell's neighbours.
func (d doubling) Halo(out tiling.Rect, _, frame tiling.Size) (tiling.Rect, Windows, tiling.Rect) {
	in := tiling.Rect{
		Y0: max((out.Y0-1)>>1, 0), Y1: min(out.Y1/2+1, frame.H/2), X0: max((out.X0-1)>>1, 0), X1: min(out.X1/2+1, frame.W/2),
	}
	w := Window{Y: out.Y0 - 2*in.Y0, X: out.X0 - 2*in.X0, H: out.Size().H, W: out.Size().W}
	return in, Windows{d.enlarge.Name: w}, tiling.Rect{Y1: w.H, X1: w.W}
}

// newDoubling declares the network with the given channels.
func newDoubling(set *wgsl.Set, c int) *Network {
	w := NewWeights(set, wgsl.F32)
	square := wgsl.Shape{O: c, I: c, KT: 1, KS: 1}
	d := doubling{width: c, enlarge: &Conv{
		Name: "outer.conv", Weights: w.Conv("outer.conv", wgsl.Shape{O: c, I: c, KT: 1, KS: 3}, 1), Out: c, Enlarge: true,
	}}
	d.inner = Series{
		&Conv{Name: "inner.conv", Weights: w.Conv("inner.conv", wgsl.Shape{O: c, I: 4, KT: 3, KS: 3}, 1), Out: c, Time: Causal{Kernel: 3}},
		&Pointwise{Name: "inner.product", Weights: w.Product("inner.product", []string{"inner.product"}, square, nil), Out: c},
	}
	d.outer = Series{
		d.enlarge,
		&Pointwise{Name: "outer.product", Weights: w.Product("outer.product", []string{"outer.product"}, wgsl.Shape{O: 3, I: c, KT: 1, KS: 1}, nil), Out: 3},
	}
	return &Network{
		Name: "decoder", Whole: Series{d.inner, d.outer}, Parts: d, Tilings: []Tiling{Exact, Feather, Diffusers}, Weights: w,
	}
}

// job decodes five frames of h x w cells.
func job(t testing.TB, h, w int) *Job {
	set := plain(t)
	return &Job{
		Direction: Direction{
			Name: "decode", In: 1, Out: 2, InFrames: 1, OutFrames: 1, InPatch: 1, OutPatch: 1, InChannels: 4, OutChannels: 3, First: stepAndOne,
		},
		Network: newDoubling(set, 16), Kernels: Kernels{Activations: set, Plain: set}, Adapter: gpu.Info{Limits: gpu.DefaultLimits},
		Frames: 5, Height: h, Width: w,
	}
}

// cut returns options with tiles of 64 pixels.
func cut(how Tiling) Options {
	return Options{Tiling: how, Tile: tiling.Choice{Tile: tiling.Square(64)}, Overlap: tiling.Square(16)}
}

func plan(t testing.TB, j *Job, o Options) *Plan {
	t.Helper()
	p, err := NewPlan(t.Context(), j, o)
	require.NoError(t, err)
	return p
}

// counted checks that a plan's bytes equal the size of its buffers, each counted once.
func counted(t *testing.T, p *Plan) {
	t.Helper()
	seen := map[*gpu.Buffer]bool{}
	for _, b := range p.Buffers() {
		require.False(t, seen[b], "%s is there twice", b.Label)
		require.Positive(t, b.Size, b.Label)
		require.Zero(t, b.Size%4, b.Label)
		seen[b] = true
	}
	require.Equal(t, sum(p.Buffers()), p.Bytes())
	require.Equal(t, p.Weights+p.Activations+p.Causal+p.Canvas+p.Transfer, p.Bytes())
	require.LessOrEqual(t, p.Bytes(), p.Budget)
	for _, w := range p.Work.Passes { // the device has one pass at a time
		require.LessOrEqual(t, p.Weights+sum(w.recordings.buffers())+sum(p.Shared()), p.Bytes())
	}
}

// needed returns the smallest budget of a plan.
func needed(p *Plan) int64 { return p.Bytes() - p.Staging }

// The plan declares everything that is allocated on the device, for every form of the
// result.
func TestBytesAreThoseOfTheBuffers(t *testing.T) {
	for _, out := range []Output{{}, {Form: RGBA8}, {Form: RGBA8, Preview: true, Frames: 4, Height: 99, Width: 101}} {
		t.Run(fmt.Sprintf("%+v", out), func(t *testing.T) {
			one := job(t, 60, 70)
			one.Output = out
			whole := plan(t, one, Options{})
			counted(t, whole)
			require.True(t, whole.Tiles.Whole())
			require.Zero(t, whole.Canvas)
			require.Zero(t, whole.Spool)
			require.Positive(t, whole.Causal)
			require.Equal(t, 4, whole.Slices)

			resident := plan(t, one, cut(Feather))
			counted(t, resident)
			require.Zero(t, resident.Spool)
			require.Equal(t, tiling.Square(16), resident.Overlap)
			require.Less(t, resident.Activations, whole.Activations, "tiles take less")

			tight := cut(Feather)
			tight.Budget = needed(resident)
			require.Zero(t, plan(t, one, tight).Spool, "there is room to the byte")
			tight.Budget--
			spooled := plan(t, one, tight)
			counted(t, spooled)
			require.EqualValues(t, 5*120*140*16, spooled.Spool, "five frames of floats")
			require.Equal(t, resident.Activations, spooled.Activations)
			require.Less(t, spooled.Canvas, resident.Canvas)

			exact := plan(t, one, cut(Exact))
			counted(t, exact)
			require.Len(t, exact.Work.Passes, 2)
			require.Zero(t, exact.Overlap)
			require.Equal(t, tiling.Square(2), exact.Halo, "a cell")
			require.Equal(t, whole.Bytes(), exact.Untiled)
			require.EqualValues(t, 5*60*70*16*4, exact.Spool, "between the passes")
			tight = cut(Exact)
			tight.Budget = needed(exact) - 1
			spooled = plan(t, one, tight)
			counted(t, spooled)
			require.EqualValues(t, 5*60*70*16*4+5*120*140*16, spooled.Spool, "and the canvas")

			diffusers := plan(t, one, cut(Diffusers))
			counted(t, diffusers)
			require.Greater(t, diffusers.Spool, int64(5*120*140*16), "the result, and what fades")
		})
	}
}

// A frame that the device cannot bind is assembled in a spool, in bands that it can bind,
// whatever the budget.
func TestBandsAreBound(t *testing.T) {
	j := job(t, 60, 70)
	j.Network = newDoubling(j.Kernels.Plain, 4)
	const tile, row = 64 * 64 * 16, 140 * 16 // bytes
	j.Adapter.Limits.MaxBinding = tile + bindAlign
	p := plan(t, j, cut(Feather))
	counted(t, p)
	require.Positive(t, p.Spool)
	v := p.Work.Joiner.(*canvas)
	require.Equal(t, tile/row, v.bands().H)
	require.EqualValues(t, tile, v.part.Buffer.Size, "a tile's part is larger than a band")
	require.EqualValues(t, tile/row*row, v.y.Buffer.Size)
}

// Latents are downloaded through separate buffers.
func TestMomentsAreCounted(t *testing.T) {
	j := job(t, 120, 140)
	w := NewWeights(j.Kernels.Plain, wgsl.F32)
	halve := &Conv{
		Name: "conv", Weights: w.Conv("conv", wgsl.Shape{O: 8, I: 3, KT: 3, KS: 3}, 2), Out: 8, Stride: 2, Time: Causal{Kernel: 3},
	}
	j.Network = &Network{Name: "encoder", Whole: halve, Tilings: []Tiling{Feather}, Weights: w}
	j.In, j.Out, j.InChannels, j.OutChannels = 2, 1, 3, 8
	var transfer, ahead []int64
	for _, form := range []Form{Floats, Draws} {
		j.Output = Output{Form: form, Preview: form != Floats} // latents have no preview
		for _, o := range []Options{{}, {Tile: tiling.Choice{Tile: tiling.Square(32)}}} {
			p := plan(t, j, o)
			counted(t, p)
			transfer, ahead = append(transfer, p.Transfer-p.Staging), append(ahead, p.Staging)
		}
	}
	const latent = 60 * 70 * 16 // bytes
	require.Equal(t, []int64{0, 0, 4 * latent, 2 * latent}, transfer, "a first slice has two frames, a band one")
	require.Equal(t, []int64{4 * latent, 4 * latent, 4 * latent, 4 * latent}, ahead, "two frames or bands")
}

// Only the needed channels of a network's output are computed, blended and kept.
func TestOutputsThatNobodyWantsAreNotMade(t *testing.T) {
	j := job(t, 120, 140)
	w := NewWeights(j.Kernels.Plain, wgsl.F32)
	conv := &Conv{Name: "conv", Weights: w.Conv("conv", wgsl.Shape{O: 8, I: 3, KT: 1, KS: 3}, 2), Out: 8, Stride: 2, Time: Causal{Kernel: 1}}
	pointwise := &Pointwise{Name: "pointwise", Weights: w.Product("pointwise", []string{"pointwise"}, wgsl.Shape{O: 8, I: 8, KT: 1, KS: 1}, nil), Out: 8}
	for name, net := range map[string]Module{
		"conv": network(func(g *Graph, x Value) Value { return conv.First(g.Outputs(conv.Out)).Forward(g, x) }),
		"pointwise": network(func(g *Graph, x Value) Value {
			return pointwise.First(g.Outputs(pointwise.Out)).Forward(g, conv.Forward(g, x))
		}),
	} {
		j.Network = &Network{Name: "encoder", Whole: net, Tilings: []Tiling{Feather}, Weights: w}
		j.In, j.Out, j.InChannels, j.OutChannels = 2, 1, 3, 8
		o := Options{Tile: tiling.Choice{Tile: tiling.Square(32)}}
		flops := func(p *Plan) int64 {
			commands := p.Work.Passes[0].Recorded[0][0].Steps[1].(*RunBatch).Batch.Commands
			return commands[len(commands)-1].Cost.FLOPs
		}
		all := plan(t, j, o)
		j.OutChannels = 4
		half := plan(t, j, o)
		counted(t, half)
		require.Equal(t, flops(all), 2*flops(half), name)
		a, b := all.Work.Joiner.bands(), half.Work.Joiner.bands()
		require.Equal(t, a.Bytes(), 2*b.Bytes(), name)
	}
}

func TestBudgetIsKept(t *testing.T) {
	j := job(t, 60, 70)
	whole := plan(t, j, Options{})
	_, err := NewPlan(t.Context(), j, Options{Budget: needed(whole) - 1})
	require.ErrorIs(t, err, ErrMemory)
	require.ErrorContains(t, err, "decoder in one tile needs "+Bytes(needed(whole)))
	for _, budget := range []int64{whole.Bytes(), whole.Bytes() - 1, needed(whole)} { // staging buffers are dropped first
		p := plan(t, j, Options{Budget: budget})
		counted(t, p)
		require.Equal(t, needed(whole), needed(p))
		require.Equal(t, budget == whole.Bytes(), p.Staging == whole.Staging)
	}
	require.Positive(t, whole.Staging)

	o := cut(Feather)
	o.Budget = 1000
	_, err = NewPlan(t.Context(), j, o)
	require.ErrorIs(t, err, ErrMemory)
	require.ErrorContains(t, err, "in tiles of 64x64")
	o.Shrink = true
	_, err = NewPlan(t.Context(), j, o)
	require.ErrorIs(t, err, tiling.ErrBudget, "no tile is small enough")
}

func TestShrink(t *testing.T) {
	j := job(t, 200, 300)
	least := func(side int) *Plan { // with the canvas in a spool
		o := cut(Feather)
		o.Tile.Tile = tiling.Square(side)
		o.Budget = needed(plan(t, j, o)) - 1
		return plan(t, j, o)
	}
	large := cut(Feather)
	large.Tile.Tile = tiling.Square(256)
	whole := plan(t, j, large)
	require.False(t, whole.Shrunk)
	o := large
	o.Budget = (needed(least(64)) + needed(least(256))) / 2
	_, err := NewPlan(t.Context(), j, o)
	require.ErrorIs(t, err, ErrMemory)
	o.Shrink = true
	p := plan(t, j, o)
	counted(t, p)
	require.True(t, p.Shrunk)
	require.Less(t, p.Tile.W, 256)
	require.Greater(t, p.Tile.W, 64)
	o.Tile = tiling.Choice{Auto: true}
	auto := plan(t, j, o)
	require.Equal(t, p.Tile, auto.Tile)
	require.False(t, auto.Shrunk, "no size was asked for")
	// The next larger tile does not fit.
	o.Tile, o.Shrink = tiling.Choice{Tile: tiling.Size{H: p.Tile.H + 8, W: p.Tile.W + 8}}, false
	_, err = NewPlan(t.Context(), j, o)
	require.ErrorIs(t, err, ErrMemory)
	// One that fits is used unchanged.
	large.Shrink = true
	require.Equal(t, whole.Tile, plan(t, j, large).Tile)
}

func TestTilingIsTheNetworks(t *testing.T) {
	j := job(t, 60, 70)
	require.Equal(t, Exact, plan(t, j, cut("")).Tiling, "the first of the network's")
	j.Network.Tilings = []Tiling{Feather}
	require.Equal(t, Feather, plan(t, j, cut("")).Tiling)
	for _, how := range []Tiling{Exact, Diffusers, "mosaic"} {
		_, err := NewPlan(t.Context(), j, cut(how))
		require.ErrorIs(t, err, ErrTiling, how)
		require.EqualError(t, err, "engine: tiling "+string(how)+": not for this model, expected feather")
	}
	j.Network.Tilings = []Tiling{Feather, Diffusers}
	_, err := NewPlan(t.Context(), j, cut(Exact))
	require.EqualError(t, err, "engine: tiling exact: not for this model, expected feather or diffusers")
	_, err = NewPlan(t.Context(), j, Options{Chunk: -2})
	require.ErrorContains(t, err, "chunk of -2 latent frames")
}

// If a pass over the whole frame has no room, or exact tiles save nothing, the default
// tiling changes.
func TestDefaultTilingFits(t *testing.T) {
	j := job(t, 400, 500)
	o := cut("")
	exact, feather := plan(t, j, o), plan(t, j, cut(Feather))
	tight := cut(Feather)
	tight.Budget = needed(feather) - 1
	feather = plan(t, j, tight) // spooled
	require.Less(t, needed(feather), needed(exact))
	o.Budget = needed(feather)
	require.Equal(t, Feather, plan(t, j, o).Tiling)
	o.Tiling = Exact
	_, err := NewPlan(t.Context(), j, o)
	require.ErrorIs(t, err, ErrMemory, "asked for, it is not replaced")

	long := job(t, 60, 70)
	long.Frames = 101 // the canvas needs more than tiles save
	o = cut("")
	tiled := plan(t, long, o)
	require.False(t, tiled.Tiles.Whole())
	require.Less(t, tiled.Untiled, tiled.Bytes())
	o.Shrink = true
	require.True(t, plan(t, long, o).Tiles.Whole(), "a default that costs memory is not taken")
	o.Tiling = Exact
	require.False(t, plan(t, long, o).Tiles.Whole(), "one that was asked for is")
}

// The passes of exact tiles exchange frames, each cell of each frame once.
func TestPassesMeet(t *testing.T) {
	p := plan(t, job(t, 60, 70), cut(Exact))
	outer := p.Work.Last()
	covered := make([]int, p.Tiles.Out.H*p.Tiles.Out.W)
	for i, tile := range outer.Tiles {
		rec := outer.Recorded[i][0]
		require.Equal(t, tile.Out.Size(), tiling.Size{H: rec.Out.H, W: rec.Out.W}, "tile %d", i)
		require.Equal(t, tile.In.Size(), tiling.Size{H: rec.In.H, W: rec.In.W}, "tile %d", i)
		for y := tile.Out.Y0; y < tile.Out.Y1; y++ {
			for x := tile.Out.X0; x < tile.Out.X1; x++ {
				covered[y*p.Tiles.Out.W+x]++
			}
		}
	}
	for _, n := range covered {
		if n != 1 {
			require.Fail(t, "a pixel is made by not one tile")
		}
	}
}

func TestDefaultBudget(t *testing.T) {
	require.EqualValues(t, 2<<30, Budget(gpu.Info{}))
	require.EqualValues(t, 6<<30, Budget(gpu.Info{Type: "discrete", Memory: 8 << 30}))
	require.EqualValues(t, 4<<30, Budget(gpu.Info{Type: "integrated", Memory: 8 << 30}))
}

// ending is a context that ends after a number of queries.
type ending struct {
	context.Context
	left *int
}

func (c ending) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Planning ends wherever its context ends, and returns no plan then.
func TestPlanningCanBeCancelled(t *testing.T) {
	for _, o := range []Options{{}, cut(Exact), cut(Feather), cut(Diffusers), {Tiling: Exact, Tile: tiling.Choice{Auto: true}, Budget: 8 << 20}} {
		many := 1 << 20
		left := many
		_, err := NewPlan(ending{t.Context(), &left}, job(t, 90, 160), o)
		require.NoError(t, err)
		asked := many - left
		require.Greater(t, asked, 10, "%+v", o)
		for n := range asked {
			left = n
			p, err := NewPlan(ending{t.Context(), &left}, job(t, 90, 160), o)
			require.ErrorIs(t, err, context.Canceled, "%+v after %d of %d", o, n, asked)
			require.Nil(t, p)
		}
	}
}

// The device accepts what a plan contains: no binding exceeds the limit, even if a run of
// frames begins between alignable offsets.
func TestBindingsFit(t *testing.T) {
	accepted, unaligned := 0, 0
	for h := 1; h <= 3; h++ {
		for w := 1; w <= 64; w++ {
			j := job(t, h, w)
			j.Frames = 120
			j.Adapter.Limits.MaxBinding = 64 << 10
			p, err := NewPlan(t.Context(), j, Options{Chunk: 50})
			if err != nil {
				require.ErrorIs(t, err, gpu.ErrTooLarge)
				continue
			}
			accepted++
			for _, r := range p.Work.Last().Recorded[0] {
				for _, s := range r.Steps {
					run, ok := s.(*RunBatch)
					if !ok {
						continue
					}
					for _, c := range run.Batch.Commands {
						for _, v := range c.Bindings {
							if v.Offset > 0 && v.Bytes() > 60<<10 {
								unaligned++
							}
							require.LessOrEqual(t, v.Bytes(), j.Adapter.Limits.MaxBinding, "%dx%d cells: %s binds %v", h, w, c.Label, v)
						}
					}
				}
			}
		}
	}
	require.Positive(t, accepted)
	require.Positive(t, unaligned, "no case came near the limit")
}

// Slices stay short if a plan uses any saving, or if frames are pictures.
func TestAutoChunkIsOne(t *testing.T) {
	j := job(t, 90, 160)
	j.Frames = 21
	for name, o := range map[string]Options{
		"least": {Internals: Internals{Least: true}}, "in 8 bits": {MemoryFormat: MemoryI8}, "on the host": {Offload: OffloadOn},
		"the largest tile": {Tile: tiling.Choice{Auto: true}, Budget: 6 << 20, Offload: OffloadOff},
	} {
		o.Chunk = AutoChunk
		require.Equal(t, 1, plan(t, j, o).Chunk, name)
	}
	j.Independent = true
	require.Equal(t, 1, plan(t, j, Options{Chunk: AutoChunk}).Chunk, "pictures")
}
