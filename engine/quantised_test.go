package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/wgsl"
)

// A frame is quantised once, in the slice that brings it: later its bytes are copied.
func TestQuantisedOnce(t *testing.T) {
	for _, c := range times {
		if c.kept() == 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			bank := newMemoryBank()
			bank.i8 = true
			for i, n := range []int{1, c.step(), c.step(), 4} {
				at := []Position{First, Second, Steady, Steady}[i]
				x := wgsl.Tensor{Elem: wgsl.F32, T: n, H: 2, W: 3, C: 4, Buffer: &gpu.Buffer{Label: "x"}}
				x.Buffer.Size = x.Bytes()
				e := &emitter{
					bank: bank, arena: newArena(1 << 20), limits: gpu.DefaultLimits, at: at, batch: &gpu.Batch{}, set: plain(t), x: x, b: entire(x.H, x.H),
				}
				l := e.time("layer", c.Causal)
				before := len(e.batch.Commands)
				l.keep(e, "layer")
				quantised, moved := 0, 0
				for _, command := range e.batch.Commands[before:] {
					if command.Program != nil {
						require.Equal(t, x.Buffer, command.Bindings[0].Buffer, "a frame that was quantised before")
						quantised++
					} else if command.Src.Buffer != nil {
						moved++
					}
				}
				if at.later() {
					require.Equal(t, min(n, c.kept()), quantised)
					require.Equal(t, max(0, c.kept()-n), moved)
				}
			}
		})
	}
}

// Frames 4 cells wide need as many bytes in 8 bits, with their scales, as in halves;
// --resume distinguishes the two nevertheless.
func TestKeptFormatsDiffer(t *testing.T) {
	set, err := wgsl.NewSet(wgsl.Packed, gpu.Info{}, nil)
	require.NoError(t, err)
	j := job(t, 6, 4)
	j.Network, j.Kernels.Activations = newDoubling(set, 16), set
	halves, bytes := plan(t, j, Options{}).CausalMemory()
	i8, same := plan(t, j, Options{MemoryFormat: MemoryI8}).CausalMemory()
	require.Positive(t, bytes)
	require.Equal(t, bytes, same)
	require.NotEqual(t, halves, i8)
}
