package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// parts returns the frames of the portions of a slice of n frames.
func parts(at Position, n int, run func(g *Graph, step int, x Value, do func(x Value) Value) Value) (frames []int, out int) {
	g := &Graph{at: at, depth: 1}
	x := g.record(node{label: "input", out: Value{T: n, H: 1, W: 1, C: 4}})
	out = run(g, 4, x, func(x Value) Value {
		frames = append(frames, x.T)
		return x
	}).T
	return frames, out
}

// The first portion of a clip is one frame, or a group like the others.
func TestPortionsAndGroups(t *testing.T) {
	portions := func(g *Graph, step int, x Value, do func(x Value) Value) Value { return g.Portions(1, step, x, do) }
	groups := func(g *Graph, step int, x Value, do func(x Value) Value) Value { return g.Groups(1, step, x, do) }
	for _, c := range []struct {
		run  func(g *Graph, step int, x Value, do func(x Value) Value) Value
		at   Position
		n    int
		want []int
	}{
		{portions, First, 9, []int{1, 4, 4}}, {portions, Steady, 8, []int{4, 4}}, {portions, Whole, 9, []int{9}},
		{groups, First, 12, []int{4, 4, 4}}, {groups, Steady, 8, []int{4, 4}}, {groups, First, 4, []int{4}}, {groups, Whole, 12, []int{12}},
	} {
		got, out := parts(c.at, c.n, c.run)
		require.Equal(t, c.want, got)
		require.Equal(t, c.n, out)
	}
}

// Frames are dropped only at the start of a clip.
func TestDrop(t *testing.T) {
	for _, c := range []struct {
		at      Position
		n, want int
	}{{Whole, 3, 5}, {First, 3, 5}, {Steady, 3, 8}, {First, 0, 8}} {
		g := &Graph{at: c.at}
		x := g.record(node{label: "input", out: Value{T: 8, H: 2, W: 3, C: 4}})
		got := (&Drop{Name: "drop", N: c.n}).Forward(g, x)
		require.Equal(t, c.want, got.T)
		require.Equal(t, [3]int{2, 3, 4}, [3]int{got.H, got.W, got.C})
	}
	s, r, err := record(t, network(func(g *Graph, x Value) Value {
		y := g.record(node{label: "repeat", reads: []Value{x}, out: Value{T: 4, H: x.H, W: x.W, C: x.C}})
		return (&Drop{Name: "drop", N: 3}).Forward(g, y)
	}), 2, 3)
	require.NoError(t, err)
	require.NotEmpty(t, s.buffers())
	copied := r.Batches()[0].Commands[0]
	require.Equal(t, int64(3*2*3*4*4), copied.Src.Offset, "the byte of frame 3")
	require.Equal(t, int64(2*3*4*4), copied.Dst.Size)
}
