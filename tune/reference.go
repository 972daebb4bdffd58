package tune

import (
	"math"
	"sync"

	"tessera/wgsl"
	"tessera/wgsl/ref"
)

// references compute the expected result of a workload's sample in f64 on the
// processor. They need no shader, because compiling takes drivers for processors longer
// than the rest of a verification.
var references = map[string]func(d wgsl.Workload, z size) []float64{
	"attention": func(d wgsl.Workload, z size) []float64 {
		return ref.Attention(wide(numbers(1, z.h*z.w*3*d.Out, 1)), 1, z.h*z.w, d.Out, false)
	},
	"conv3d":               func(d wgsl.Workload, z size) []float64 { return conv(d, z, z.n, 1) },
	"conv3d_strided":       func(d wgsl.Workload, z size) []float64 { return conv(d, z, z.n, 2) },
	"conv3d_winograd_rows": func(d wgsl.Workload, z size) []float64 { return conv(d, forRows(z), forRows(z).n, 1) },
	"conv3d_winograd":      func(d wgsl.Workload, z size) []float64 { return conv(d, z, (z.n+1)&^1, 1) },
	"conv_up":              func(d wgsl.Workload, z size) []float64 { return convUp(d, z, z.n) },
	"conv_up_winograd":     func(d wgsl.Workload, z size) []float64 { return convUp(d, z, (z.n+1)&^1) },
	"group_norm": func(d wgsl.Workload, z size) []float64 {
		c, groups := normed(d, z)
		x, gamma, beta := wide(numbers(1, z.n*z.h*z.w*c, 1)), wide(numbers(2, c, 1)), wide(numbers(3, c, biasDivisor))
		return ref.GroupNorm(x, z.n, z.h*z.w, c, groups, gamma, beta, normEps, true)
	},
	"pointwise": func(d wgsl.Workload, z size) []float64 {
		s := shapeOf(d)
		weight, bias := plainWeights(s), wide(numbers(3, s.O, biasDivisor))
		return frames(s, z.n, z.h*z.w*d.In, func(x []float64) []float64 {
			return ref.Conv3D(x, s.KT, z.h, z.w, d.In, weight, bias, s.O, s.KT, 1, 1, 1)
		})
	},
}

// conv returns n frames of a 3x3 convolution with a stride.
func conv(d wgsl.Workload, z size, n, stride int) []float64 {
	s := shapeOf(d)
	h, w, y0, rows, columns := z.h, z.w, -1, z.h+2, z.w+2
	if stride == 2 {
		h, w, y0, rows, columns = 2*z.h, 2*z.w, 0, 2*z.h+1, 2*z.w+1
	}
	weight, bias := plainWeights(s), wide(numbers(3, s.O, biasDivisor))
	return frames(s, n, h*w*d.In, func(x []float64) []float64 {
		x = ref.Window(x, s.KT, h, w, d.In, y0, y0, rows, columns)
		return ref.Conv3D(x, s.KT, rows, columns, d.In, weight, bias, s.O, s.KT, 3, 1, stride)
	})
}

// convUp returns frames of an enlarging convolution. For every eight of its outputs
// there are eight biases, then those of the four cells.
func convUp(d wgsl.Workload, z size, n int) []float64 {
	s := shapeOf(d)
	weight, all := plainWeights(s), wide(numbers(3, wgsl.ConvUpBias(s), biasDivisor))
	bias, cell := make([]float64, s.O), make([]float64, 4*s.O)
	for i := range s.O {
		of := all[i/8*40+i%8:]
		bias[i] = of[0]
		for k := range 4 {
			cell[(i/d.Out*4+k)*d.Out+i%d.Out] = of[8+8*k]
		}
	}
	return frames(s, n, z.h*z.w*d.In, func(x []float64) []float64 {
		return ref.ConvUp(x, s.KT, z.h, z.w, d.In, weight, bias, cell, d.Out, s.KT, 1, 0, 0, 2*z.h, 2*z.w)
	})
}

// frames computes n frames at once, each from as many input frames as there are taps.
func frames(s wgsl.Shape, n, frame int, one func(x []float64) []float64) []float64 {
	x, parts := wide(numbers(1, (n+s.KT-1)*frame, 1)), make([][]float64, n)
	var done sync.WaitGroup
	for t := range n {
		done.Go(func() { parts[t] = one(x[t*frame : (t+s.KT)*frame]) })
	}
	done.Wait()
	var y []float64
	for _, part := range parts {
		y = append(y, part...)
	}
	return y
}

// plainWeights returns a sample's weights in a checkpoint's order.
func plainWeights(s wgsl.Shape) []float64 {
	inputs := s.I * s.KT * s.KS * s.KS
	return wide(numbers(2, s.O*inputs, math.Sqrt(float64(inputs))))
}

// wide converts numbers to f64.
func wide(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}
