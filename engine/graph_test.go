package engine

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/wgsl"
)

// plain returns kernels for an adapter without special features.
func plain(t testing.TB) *wgsl.Set {
	set, err := wgsl.NewSet(wgsl.F32, gpu.Info{}, nil)
	require.NoError(t, err)
	return set
}

// network is a module made of a function.
type network func(g *Graph, x Value) Value

func (n network) Forward(g *Graph, x Value) Value { return n(g, x) }

// record records a network on one frame of h x w pixels of 4 channels.
func record(t testing.TB, net Module, h, w int) (*recordings, *Recording, error) {
	s := newRecordings("net", net, Clip{}, plain(t), gpu.DefaultLimits, false)
	r, err := s.of(t.Context(), tileShape{h: h, w: w, c: 4}, Slice{T: 0, N: 1, at: Whole})
	s.place()
	return s, r, err
}

// hash returns an operation's result for its operands: a number that depends on a value's
// whole history.
func hash(label string, operands ...uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, label, operands)
	return h.Sum64()
}

// flag is a boolean in a record of parameters.
func flag(yes bool) uint32 {
	if yes {
		return 1
	}
	return 0
}

// fakes records operations with known results.
type fakes struct {
	g       *Graph
	results map[int]uint64 // by value
}

// op records an operation that reads values and makes another, or adds to onto. If it
// makes a value like its only input, it may work in place. Each operation has scratch of
// another size.
func (f *fakes) op(label string, onto Value, out Value, reads ...Value) Value {
	operands := []uint64{}
	for _, v := range append(append([]Value(nil), reads...), onto) {
		operands = append(operands, f.results[v.id])
	}
	over := len(reads) == 1 && onto.id == 0 && out == Value{reads[0].T, reads[0].H, reads[0].W, reads[0].C, 0}
	made := f.g.record(node{label: label, reads: reads, onto: onto, over: over, out: out, emit: func(e *emitter, y wgsl.Tensor) {
		views := []gpu.View{}
		p := &gpu.Program{Label: label}
		for _, v := range reads {
			views = append(views, e.tensors[v.id].Buffer.All())
			p.Storage = append(p.Storage, gpu.Read)
		}
		scratch := e.temporary(label+" scratch", 4*int64(len(label)))
		views, p.Storage = append(views, scratch, y.Buffer.All()), append(p.Storage, gpu.ReadWrite, gpu.ReadWrite)
		e.batch.Dispatch(label, p, [3]uint32{1, 1, 1}, struct{ Onto, Over uint32 }{uint32(min(onto.id, 1)), flag(over)}, gpu.Cost{}, views...)
	}})
	f.results[made.id] = hash(label, operands...)
	return made
}

// contents runs a recording's commands on hashes and returns the content of its output.
func contents(t *testing.T, r *Recording, input uint64) (made uint64, inPlace int) {
	held := map[*gpu.Buffer]uint64{r.In.Buffer: input}
	for _, c := range r.Steps[1].(*RunBatch).Batch.Commands {
		last := len(c.Bindings) - 1
		operands := []uint64{}
		seen := map[*gpu.Buffer]bool{}
		for _, v := range c.Bindings[:last-1] {
			operands = append(operands, held[v.Buffer])
			seen[v.Buffer] = true
		}
		scratch, y := c.Bindings[last-1].Buffer, c.Bindings[last].Buffer
		require.False(t, seen[scratch] || seen[y] && c.Params[4] == 0 || scratch == y, "%s writes what it reads", c.Label)
		if seen[y] {
			inPlace++
		}
		before := uint64(0)
		if c.Params[0] == 1 {
			before = held[y]
		}
		held[scratch] = hash(c.Label + " scratch")
		held[y] = hash(c.Label, append(operands, before)...)
	}
	return held[r.Out.Buffer], inPlace
}

// A value keeps its buffer until its last reader is done: for any graph, the commands
// leave the operations' result in the output.
func TestBuffersAreKeptUntilTheLastReader(t *testing.T) {
	reused, inPlace := 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		var want, input uint64
		ops := 0
		net := network(func(g *Graph, x Value) Value {
			f := &fakes{g, map[int]uint64{x.id: hash("input")}}
			input = f.results[x.id]
			live, unread := []Value{x}, map[int]bool{x.id: true}
			for ops = range 3 + random.IntN(20) {
				var reads []Value
				for range 1 + random.IntN(2) {
					reads = append(reads, live[random.IntN(len(live))])
				}
				var onto Value
				at := random.IntN(len(live))
				if v := live[at]; random.IntN(2) == 0 && !slices.Contains(reads, v) {
					onto = v
					live = append(live[:at], live[at+1:]...)
					delete(unread, v.id)
				}
				for _, v := range reads {
					delete(unread, v.id)
				}
				out := Value{T: 1 + random.IntN(3), H: 1 + random.IntN(4), W: 1 + random.IntN(4), C: 4}
				if random.IntN(2) == 0 {
					out = reads[0]
					out.id = 0
				}
				v := f.op(fmt.Sprint("op", ops), onto, out, reads...)
				live, unread[v.id] = append(live, v), true
			}
			var rest []Value
			for _, v := range live {
				if unread[v.id] {
					rest = append(rest, v)
				}
			}
			out := f.op("out", Value{}, Value{T: 1, H: 1, W: 1, C: 4}, rest...)
			want = f.results[out.id]
			return out
		})
		s, r, err := record(t, net, 3, 3)
		require.NoError(t, err)
		made, over := contents(t, r, input)
		inPlace += over
		require.Equal(t, want, made, "graph %d:\n%s", seed, r.Steps[1])
		for _, u := range s.arena.uses {
			require.Greater(t, u.till, u.from, "graph %d: %s is never given back", seed, u.own.Label)
		}
		reused += ops - len(s.arena.buffers)
	}
	require.Greater(t, reused, 500, "buffers are not used again")
	require.Greater(t, inPlace, 100, "nothing is made in place")
}

// In a chain of any length at most two values exist at once.
func TestAChainTakesTwoBuffers(t *testing.T) {
	net := network(func(g *Graph, x Value) Value {
		for i := range 20 {
			x = Copy(g, fmt.Sprint("copy ", i), x)
		}
		return x
	})
	s, r, err := record(t, net, 4, 5)
	require.NoError(t, err)
	require.Len(t, s.arena.buffers, 2)
	require.Equal(t, 2*r.In.Bytes(), sum(s.buffers()))
}

// A norm works in place if no later operation reads its input.
func TestNormsAreInPlace(t *testing.T) {
	gamma := &gpu.Buffer{Label: "gamma", Size: 16}
	group, root := &GroupNorm{Name: "group", Gamma: gamma, Beta: gamma, Groups: 1}, &RMSNorm{Name: "root", Gamma: gamma}
	s, r, err := record(t, Series{group, root, group}, 40, 50)
	require.NoError(t, err)
	require.Equal(t, r.In.Buffer, r.Out.Buffer)
	require.Less(t, s.arena.bytes(), 2*r.In.Bytes())
	_, r, err = record(t, network(func(g *Graph, x Value) Value {
		return AddMeans(g, "sum", group.Forward(g, x), root.Forward(g, x)) // the last to read x
	}), 40, 50)
	require.NoError(t, err)
	require.Equal(t, r.In.Buffer, r.Out.Buffer)
	_, r, err = record(t, network(func(g *Graph, x Value) Value { return AddMeans(g, "sum", group.Forward(g, x), x) }), 40, 50)
	require.NoError(t, err)
	require.Equal(t, r.In.Buffer, r.Out.Buffer)
	require.NotEqual(t, r.In.Buffer, r.batch.Commands[2].Bindings[2].Buffer, "made over what is read later")
}

// A norm by the network's input also works in place, for several frames: its factors and
// summands are freed.
func TestSpatialNormsAreInPlace(t *testing.T) {
	b := &gpu.Buffer{Label: "weight", Size: 4096}
	product := &Pointwise{Name: "product", Out: 4, Weights: wgsl.Weights{Weight: b, Bias: b, Packing: plain(t).PointwisePacking(wgsl.Shape{O: 4, I: 4, KT: 1, KS: 1})}}
	norm := &SpatialNorm{Norm: &GroupNorm{Name: "norm", Gamma: b, Beta: b, Groups: 1, Clip: true}, Times: product, Plus: product}
	s, r, err := record(t, network(func(g *Graph, x Value) Value {
		require.Equal(t, x, g.Input())
		x = Copy(g, "copy", x)
		return norm.Forward(g, norm.Forward(g, x))
	}), 4, 6)
	require.NoError(t, err)
	for _, u := range s.arena.uses {
		require.Greater(t, u.till, u.from, "%s is never given back", u.own.Label)
	}
	require.Less(t, s.arena.bytes(), 5*r.In.Bytes(), "input, copy, two products, and moments")
}

// Pairs of frames become one, and frames become two, except the first of an odd number.
func TestFramesHalvedAndDoubled(t *testing.T) {
	for _, c := range []struct{ frames, halved, doubled int }{{2, 1, 1}, {3, 2, 4}, {4, 2, 4}, {5, 3, 5}, {8, 4, 8}, {9, 5, 9}} {
		g := &Graph{at: Whole}
		x := g.record(node{label: "input", out: Value{T: c.frames, H: 2, W: 2, C: 4}})
		x = (&Unshuffle{Name: "half", Out: 4, Time: 2, Space: 1}).Forward(g, x)
		require.Equal(t, c.halved, x.T)
		x = (&Doubled{Name: "double", Conv: &Conv{Name: "conv", Out: 4}}).Forward(g, x)
		require.Equal(t, c.doubled, x.T)
		require.Equal(t, macs(9, c.doubled, 2, 2, 4, 4), g.nodes[2].macs, "the original convolves all of them")
	}
}

func TestWrongGraphsPanic(t *testing.T) {
	for _, c := range []struct {
		what string
		net  network
	}{
		{"engine: sum: adds to a value that is read later", func(g *Graph, x Value) Value {
			a, b := Copy(g, "a", x), Copy(g, "b", x)
			y := AddMeans(g, "sum", a, b)
			return AddMeans(g, "late", b, y)
		}},
		{"engine: sum: adds to a value that is read later", func(g *Graph, x Value) Value {
			a := Copy(g, "a", x)
			return AddMeans(g, "sum", a, a)
		}},
		{"engine: lost: its output is never read", func(g *Graph, x Value) Value {
			Copy(g, "lost", x)
			return Copy(g, "kept", x)
		}},
	} {
		require.PanicsWithValue(t, c.what, func() { record(t, c.net, 2, 2) })
	}
	_, _, err := record(t, network(func(g *Graph, x Value) Value { // read before, which is allowed
		a, b := Copy(g, "a", x), Copy(g, "b", x)
		c := Copy(g, "c", b)
		return AddMeans(g, "more", c, AddMeans(g, "sum", a, b))
	}), 2, 2)
	require.NoError(t, err)
}

// An error about a value too large for the device names the layer.
func TestTooLargeIsToldByLayer(t *testing.T) {
	of := func(net network, h, w, c int) error {
		s := newRecordings("net", net, Clip{}, plain(t), gpu.DefaultLimits, false)
		_, err := s.of(t.Context(), tileShape{h: h, w: w, c: c}, Slice{T: 0, N: 1, at: Whole})
		return err
	}
	rms := &RMSNorm{Name: "norm", Gamma: &gpu.Buffer{Label: "gamma", Size: 16}}
	err := of(rms.Forward, 1, 9<<20, 4)
	require.ErrorIs(t, err, gpu.ErrTooLarge)
	require.ErrorContains(t, err, "engine: norm: 1 rows of 9437184 pixels and 4 channels are 144.0 MiB, device allows 128.0 MiB in a binding")
	s := newRecordings("net", network(func(g *Graph, x Value) Value { return Copy(g, "copy", x) }), Clip{}, plain(t), gpu.DefaultLimits, false)
	_, err = s.of(t.Context(), tileShape{h: 1024, w: 1024, c: 4}, Slice{T: 0, N: 17, at: Whole}) // 17 frames of 16 MiB
	require.ErrorIs(t, err, gpu.ErrTooLarge)
	require.ErrorContains(t, err, "engine: input: activation of 272.0 MiB, device allows 256.0 MiB in a buffer")
}

// A recording is made once per shape, kind of slice and windows.
func TestRecordingsByShape(t *testing.T) {
	set := plain(t)
	conv := &Conv{Name: "conv", Weights: NewWeights(set, wgsl.F32).Conv("conv", wgsl.Shape{O: 4, I: 4, KT: 1, KS: 3}, 1), Out: 4}
	s := newRecordings("net", conv, Clip{}, set, gpu.DefaultLimits, false)
	of := func(h int, w Windows, slice Slice) *Recording {
		r, err := s.of(t.Context(), tileShape{h: h, w: 8, c: 4, windows: w}, slice)
		require.NoError(t, err)
		return r
	}
	one := Slice{T: 0, N: 1, at: Whole}
	whole := of(8, nil, one)
	require.Equal(t, [2]int{8, 8}, [2]int{whole.Out.H, whole.Out.W})
	require.Same(t, whole, of(8, nil, one))
	require.Same(t, whole, of(8, Windows{}, Slice{T: 5, N: 1, at: Whole}), "another frame of the same shape")
	part := of(8, Windows{"conv": {Y: 2, X: 1, H: 3, W: 5}}, one)
	require.Equal(t, [2]int{3, 5}, [2]int{part.Out.H, part.Out.W})
	require.Same(t, part, of(8, Windows{"conv": {Y: 2, X: 1, H: 3, W: 5}}, one))

	all := map[*Recording]string{}
	for name, r := range map[string]*Recording{
		"whole": whole, "part": part, "higher": of(9, nil, one), "two frames": of(8, nil, Slice{T: 0, N: 2, at: Whole}), "first": of(8, nil, Slice{T: 0, N: 1, at: First}),
		"steady": of(8, nil, Slice{T: 0, N: 1, at: Steady}), "lower part": of(8, Windows{"conv": {Y: 3, X: 1, H: 3, W: 5}}, one),
		"another layer's": of(8, Windows{"other": {Y: 2, X: 1, H: 3, W: 5}}, one),
	} {
		require.Empty(t, all[r], "%s is taken for it", name)
		all[r] = name
	}
}

// A mark has a module's output before a later value reuses its memory.
func TestMarks(t *testing.T) {
	net := network(func(g *Graph, x Value) Value {
		for _, name := range []string{"a", "b", "c"} {
			x = Copy(g, name, x)
			g.Mark(name, x)
		}
		return x
	})
	_, r, err := record(t, net, 2, 2)
	require.NoError(t, err)
	require.Len(t, r.Marked, 3)
	commands := r.Steps[1].(*RunBatch).Batch.Commands
	for i, m := range r.Marked {
		require.Equal(t, string(rune('a'+i)), m.Name)
		require.Equal(t, i+1, m.End)
		require.Same(t, commands[i].Dst.Buffer, m.Out.Buffer, m.Name)
	}
}

func TestSliced(t *testing.T) {
	require.Equal(t, []Slice{{0, 5, Whole, 0, false}}, sliced(5, 5, 4))
	require.Equal(t, []Slice{{0, 3, Whole, 0, false}}, sliced(3, 5, 4))
	require.Equal(t, []Slice{{0, 5, First, 0, false}, {5, 4, Steady, 1, false}, {9, 2, Steady, 2, false}}, sliced(11, 5, 4))
	require.Equal(t, []Slice{{0, 1, First, 0, false}, {1, 1, Steady, 1, false}, {2, 1, Steady, 1, false}}, sliced(3, 1, 1))
	require.Equal(t, []Slice{{0, 1, Whole, 0, false}, {1, 1, Whole, 0, false}}, singleFrames(2, 1))
	require.Equal(t, []Slice{{0, 4, Whole, 0, false}, {4, 4, Whole, 0, false}}, singleFrames(2, 4))
}

// A convolution whose first taps read one frame multiplies with their sum: a third of the
// products in a clip's first frame and two thirds in the second, if the past is the first
// frame.
func TestTapsOfOneFrameAreSummed(t *testing.T) {
	const product = 2 * (3*5 - 2) * 7 * 12 * 4 * 3 // FLOPs of a tap in a frame
	for _, c := range []struct {
		name          string
		time          Causal
		at            Position
		frames        int
		plain, folded int64 // in taps
		kept          int64 // most taps of a weight in memory at once
	}{
		{"a picture", Causal{Kernel: 3}, Whole, 1, 3, 1, 1},
		{"a clip", Causal{Kernel: 3}, Whole, 5, 15, 1 + 2 + 9, 2},
		{"its first slice", Causal{Kernel: 3}, First, 2, 6, 1 + 2, 2},
		{"a later slice", Causal{Kernel: 3}, Steady, 2, 6, 6, 0},
		{"time halved", Causal{Kernel: 3, Step: 2}, Whole, 5, 9, 1 + 6, 1},
		{"zeros before", Causal{Kernel: 3, Past: Zeros}, Whole, 5, 1 + 2 + 9, 1 + 2 + 9, 0},
		{"one tap", Causal{Kernel: 1}, Whole, 1, 1, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := NewWeights(plain(t), wgsl.Packed)
			conv := &Conv{Name: "conv", Weights: w.Conv("conv", wgsl.Shape{O: 12, I: 4, KT: c.time.Kernel, KS: 3}, 1), Out: 12, Time: c.time}
			run := func(noFold bool) (taps, scratch int64) {
				s := newRecordings("net", conv, Clip{}, plain(t), gpu.DefaultLimits, noFold)
				r, err := s.of(t.Context(), tileShape{h: 5, w: 7, c: 4}, Slice{N: c.frames, at: c.at})
				require.NoError(t, err)
				s.place()
				for _, k := range r.Steps[1].(*RunBatch).Batch.Commands {
					if k.Label == "conv" {
						taps += k.Cost.FLOPs / product
					}
				}
				return taps, s.arena.bytes() - r.In.Bytes() - r.Out.Bytes()
			}
			taps, scratch := run(true)
			require.Equal(t, c.plain, taps)
			require.Zero(t, scratch)
			taps, scratch = run(false)
			require.Equal(t, c.folded, taps)
			const tap = 16 * 4 * 9 * 4 // bytes of a tap, with outputs padded to blocks of 8
			require.EqualValues(t, c.kept*tap, scratch, "planned memory is that of the largest sums")
		})
	}
}

// Two frames that read four consecutive ones cost four products instead of six, with
// weights made once per slice; frames too small for a saving are not paired.
func TestWinograd(t *testing.T) {
	for _, c := range []struct {
		name          string
		time          Causal
		at            Position
		h, frames     int
		plain, paired int64 // in products
		taps          int64 // most taps of a weight in memory at once
	}{
		{"a later slice", Causal{Kernel: 3}, Steady, 16, 4, 12, 8, 4},
		{"of an odd number", Causal{Kernel: 3, Past: Zeros}, Steady, 16, 3, 9, 3 + 4, 4},
		{"a first slice", Causal{Kernel: 3}, First, 16, 5, 1 + 2 + 9, 1 + 4 + 4, 4},
		{"a clip after zeros", Causal{Kernel: 3, Past: Zeros}, Whole, 16, 5, 1 + 2 + 9, 1 + 2 + 3 + 4, 4},
		{"small frames", Causal{Kernel: 3}, Steady, 15, 2, 6, 6, 0},
		{"time halved", Causal{Kernel: 3, Step: 2}, Steady, 16, 4, 6, 6, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(on bool) (products, scratch int64) {
				set, err := wgsl.NewSet(wgsl.F32, gpu.Info{}, wgsl.Choices(nil).Winograd(gpu.Info{}, on))
				require.NoError(t, err)
				w := NewWeights(set, wgsl.Packed)
				conv := &Conv{Name: "conv", Weights: w.Conv("conv", wgsl.Shape{O: 12, I: 4, KT: 3, KS: 3}, 1), Out: 12, Time: c.time}
				s := newRecordings("net", conv, Clip{}, set, gpu.DefaultLimits, false)
				r, err := s.of(t.Context(), tileShape{h: c.h, w: 16, c: 4}, Slice{N: c.frames, at: c.at})
				require.NoError(t, err)
				s.place()
				return r.Cost.MACs / int64((3*c.h-2)*16*12*4*3), s.arena.bytes() - r.In.Bytes() - r.Out.Bytes()
			}
			products, _ := run(false)
			require.Equal(t, c.plain, products)
			products, scratch := run(true)
			require.Equal(t, c.paired, products)
			const tap = 16 * 4 * 9 * 4 // bytes of a tap, with outputs padded to blocks of 8
			require.EqualValues(t, c.taps*tap, scratch, "planned memory is that of the pairs' weights")
		})
	}
}

// Two frames that exceed a binding are made in bands, also in pairs: with frames that fit
// one by one, and with larger ones.
func TestWinogradInBands(t *testing.T) {
	const h, frame = 64, 64 * 16 * 12 * 4 // bytes of a frame
	for _, most := range []int64{4 * frame, frame, frame / 2} {
		run := func(on bool) int64 {
			set, err := wgsl.NewSet(wgsl.F32, gpu.Info{}, wgsl.Choices(nil).Winograd(gpu.Info{}, on))
			require.NoError(t, err)
			w := NewWeights(set, wgsl.Packed)
			conv := &Conv{Name: "conv", Weights: w.Conv("conv", wgsl.Shape{O: 12, I: 4, KT: 3, KS: 3}, 1), Out: 12, Time: Causal{Kernel: 3}}
			limits := gpu.DefaultLimits
			limits.MaxBinding = most
			r, err := newRecordings("net", conv, Clip{}, set, limits, false).of(t.Context(), tileShape{h: h, w: 16, c: 4}, Slice{N: 4, at: Steady})
			require.NoError(t, err)
			for _, c := range r.batch.Commands {
				for _, v := range c.Bindings {
					require.LessOrEqual(t, v.Bytes(), most)
				}
			}
			return r.Cost.MACs / int64((3*h-2)*16*12*4*3)
		}
		require.EqualValues(t, 12, run(false), "one by one")
		require.EqualValues(t, 8, run(true), "in pairs, of %d bytes", most)
	}
}
