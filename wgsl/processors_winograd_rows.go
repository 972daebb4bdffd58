package wgsl

import "tessera/gpu"

type winogradInputsRowsParams struct {
	First                   gpu.First
	W_in, W, C_in4          uint32
	Left                    int32
	X_at, Y_at, All, Stride uint32
}

// winogradRowsTransformed records separate frames with an input transform of some rows
// at a time.
func (s *Set) winogradRowsTransformed(b *gpu.Batch, label, class string, k *kernel, c *Conv3DWinogradRows) {
	x := &c.Taps[0].X
	h := k.shaders[0].columns(c.Y.C)
	for t := range c.N {
		h.eachRows(rowSums(x, c.Y.W, len(c.Taps)), x.H, c.Y0, c.Y.H, func(y, rows, from, n int) {
			for i := range c.Taps {
				s.rowInputTransform(b, label, &k.shaders[1], c, i, t, from, n)
			}
			s.winogradProducts(b, label, class, h, &products{
				Weights: c.Weights, sums: c.Sums, H: n, W: (c.Y.W + 3) / 4, C: x.C, taps: len(c.Taps), top: y + c.Y0 - 1 - from,
				Y: c.Y.Part(y, rows), T: c.T + t, of: 4, rows: true, add: c.Add, relu: c.ReLU,
			})
		})
	}
}

// rowInputTransform records the sums of n rows under temporal tap i of output frame t.
func (s *Set) rowInputTransform(b *gpu.Batch, label string, h *shader, c *Conv3DWinogradRows, i, t, row, n int) {
	in := c.Taps[i].X.Part(row, n)
	x, at := in.Frames(c.Taps[i].T+t, 1)
	w4 := (c.Y.W + 3) / 4
	all := len(c.Taps) * in.C4()
	sums := gpu.View{Buffer: c.Sums, Size: int64(n) * rowSums(&in, c.Y.W, len(c.Taps))}
	b.Dispatch(label, s.program(h, constants{}, gpu.Read, gpu.ReadWrite), h.cover(extent{H: n, W: w4, C4: in.C4(), N: 1}), winogradInputsRowsParams{
		W_in: uint32(in.W), W: uint32(w4), C_in4: uint32(in.C4()), Left: int32(c.X0 - 1),
		X_at: at, Y_at: uint32(i * in.C4()), All: uint32(all), Stride: uint32(n * w4 * all),
	}, gpu.Cost{FLOPs: 88 * int64(n*w4*in.C4()), Bytes: x.Bytes() + sums.Size/int64(len(c.Taps))}, x, sums)
}
