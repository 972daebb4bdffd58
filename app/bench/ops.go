package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tessera/gpu"
	"tessera/wgsl"
)

// Op is the result of one operation.
type Op struct {
	Name    string  `json:"name"`
	Of      string  `json:"of"`                // shape
	Kernel  string  `json:"kernel,omitempty"`  // the program with most operations
	Seconds float64 `json:"seconds,omitempty"` // the best of several runs
	FLOPs   int64   `json:"flops"`             // of the operation; kernels that compute frames or pixels together need fewer
	Bytes   int64   `json:"bytes"`             // if each operand moved once
	Share   float64 `json:"share,omitempty"`   // of the roofline
	Missing string  `json:"missing,omitempty"` // why it was not measured
}

// compare computes the share of a roofline.
func (o *Op) compare(roof Roofline) {
	if o.Seconds > 0 {
		o.Share = roof.share(o.FLOPs, o.Bytes, o.Seconds)
	}
}

// bench is a case in progress: recording it declares its buffers.
type bench struct {
	set *wgsl.Set
	kernel
}

// opCase is an operation on n frames of side x side pixels.
type opCase struct {
	name    string
	of      string // channels
	n       int
	flops   float64 // per pixel of a frame, about; 0 for cases that only move memory
	record  func(b *bench, n, side int)
	counted func(b *bench, n, side int) // records the commands whose FLOPs count, if they are fewer; nil is record
	largest int                         // largest side. Cases that only move memory have this side alone, beyond the caches
}

// opCases are the operations at the widths of the models.
var opCases = []opCase{
	conv(128, 128, 3, 4), conv(256, 256, 3, 4), conv(512, 512, 3, 2), conv(96, 96, 3, 4), conv(512, 512, 1, 1),
	winograd(128), winograd(256),
	{name: "pointwise", of: "512→512", n: 4, flops: 2 * 512 * 512, record: func(b *bench, n, side int) {
		shape := wgsl.Shape{O: 512, I: 512, KT: 1, KS: 1}
		w := b.weights(shape, b.set.PointwisePacking(shape))
		b.set.Pointwise(b.batch, "pointwise", wgsl.Pointwise{Weights: w, X: b.tensor(n, side, 512), Y: b.tensor(n, side, 512), N: n})
	}},
	{name: "attention", of: "512, one head", n: 1, flops: 4 * 512 * 4096, largest: 64, record: func(b *bench, n, side int) {
		a := wgsl.Attention{QKV: b.tensor(n, side, 3*512), O: b.tensor(n, side, 512), N: n}
		scores, state, acc := a.Scratch()
		a.Scores, a.State, a.Acc = b.scratch(scores), b.scratch(state), b.scratch(acc)
		b.set.Attention(b.batch, "attention", a)
	}},
	{name: "group norm, SiLU", of: "128", n: 1, largest: 256, record: func(b *bench, n, side int) {
		g := wgsl.GroupNorm{
			Gamma: b.buffer(4 * 128), Beta: b.buffer(4 * 128), Groups: 32, Eps: 1e-6, SiLU: true,
			X: b.tensor(n, side, 128), Y: b.tensor(n, side, 128), N: n,
		}
		partials, factors := g.Scratch()
		g.Partials, g.Factors = b.scratch(partials), b.scratch(factors)
		b.set.GroupNorm(b.batch, "group norm", g)
	}},
	{name: "RMS norm, SiLU", of: "96", n: 1, largest: 256, record: func(b *bench, n, side int) {
		b.set.RMSNorm(b.batch, "rms norm", wgsl.RMSNorm{Gamma: b.buffer(4 * 96), SiLU: true, X: b.tensor(n, side, 96), Y: b.tensor(n, side, 96), N: n})
	}},
	{name: "feather blend", of: "4", n: 2, largest: 1024, record: func(b *bench, n, side int) {
		canvas := b.tensor(n, side, 4)
		canvas.Elem, canvas.Buffer.Size = wgsl.F32, int64(n)*int64(side*side)*16
		weights := int64(4 * side)
		b.set.FeatherBlend(b.batch, "blend", wgsl.FeatherBlend{Wy: b.scratch(weights), Wx: b.scratch(weights), Tile: b.tensor(n, side, 4), Canvas: canvas, N: n})
	}},
}

// conv is a 3x3 convolution of kt temporal taps, frame by frame.
func conv(in, out, kt, n int) opCase {
	c := opCase{name: fmt.Sprintf("conv3d %d×3×3", kt), of: fmt.Sprintf("%d→%d", in, out), n: n, flops: float64(2 * 9 * kt * in * out)}
	shape := wgsl.Shape{O: out, I: in, KT: kt, KS: 3}
	operands := func(b *bench, n, side int) (w wgsl.Weights, taps []wgsl.Tap, y wgsl.Tensor) {
		w = b.weights(shape, b.set.ConvPacking(shape, 1))
		x := b.tensor(n+kt-1, side, in)
		for t := range kt {
			taps = append(taps, wgsl.Tap{X: x, T: t})
		}
		return w, taps, b.tensor(n, side, out)
	}
	c.counted = func(b *bench, n, side int) {
		w, taps, y := operands(b, n, side)
		b.set.Conv3D(b.batch, "conv3d", wgsl.Conv3D{Weights: w, Taps: taps, Step: 1, Stride: 1, Y: y, N: n})
	}
	c.record = func(b *bench, n, side int) {
		if !b.set.UsesWinogradRows(b.set.ConvPacking(shape, 1), shape, side*side, n > 1) {
			c.counted(b, n, side)
			return
		}
		w, taps, y := operands(b, n, side)
		once := &gpu.Batch{} // weights are prepared once for many frames
		b.set.Conv3DWinogradRows(b.batch, "conv3d", b.set.WinogradRowsOf(once, "columns", w, taps, y, b.named))
	}
	return c
}

// winograd is a 3x3x3 convolution of clips, by the kernels of Winograd's F(2,3) or F(4,3)
// in time, if the adapter has them.
func winograd(channels int) opCase {
	c := conv(channels, channels, 3, 4)
	c.name += " Winograd"
	c.record = func(b *bench, n, side int) {
		shape := wgsl.Shape{O: channels, I: channels, KT: 3, KS: 3}
		w := b.weights(shape, b.set.ConvPacking(shape, 1))
		x, y := b.tensor(n+2, side, channels), b.tensor(n, side, channels)
		once := &gpu.Batch{} // weights are prepared once for many frames
		b.set.Conv3DWinograd(b.batch, "conv3d_winograd", b.set.WinogradOf(once, "taps", w, x, y, b.set.WinogradFrames(shape, n), b.named))
	}
	return c
}

func (b *bench) buffer(bytes int64) *gpu.Buffer {
	v := &gpu.Buffer{Label: "bench", Size: (bytes + 3) &^ 3}
	b.buffers = append(b.buffers, v)
	return v
}

func (b *bench) named(_ string, bytes int64) *gpu.Buffer { return b.buffer(bytes) }

func (b *bench) scratch(bytes int64) gpu.View { return b.buffer(bytes).All() }

func (b *bench) tensor(n, side, channels int) wgsl.Tensor {
	x := wgsl.Tensor{Elem: b.set.Elem, T: n, H: side, W: side, C: channels}
	x.Buffer = b.buffer(x.Bytes())
	return x
}

// weights declares weights stored as halves, as models store them.
func (b *bench) weights(s wgsl.Shape, p *wgsl.Packing) wgsl.Weights {
	return wgsl.Weights{
		Weight: b.buffer(int64(p.Size(s) * wgsl.Packed.Bytes())), Bias: b.buffer(int64(4 * ((s.O + 7) &^ 7))), Elem: wgsl.Packed, Packing: p,
	}
}

// Sides of frames: every adapter can do the first; the last is for the fastest.
const (
	sideLeast = 32
	sideMost  = 256
)

// side chooses the largest frames that fit the time: at a tenth of the roofline's speed,
// one of several runs should take a twentieth of it.
func (c *opCase) side(r Roofline, patience time.Duration) int {
	if c.flops == 0 {
		return c.largest
	}
	most, side := sideMost, sideLeast
	if c.largest > 0 {
		most = c.largest
	}
	for side < most && 4*c.flops*float64(c.n*side*side) < 1e9*r.GFLOPs*patience.Seconds()/200 {
		side *= 2
	}
	return side
}

// run measures an operation on frames of the given side.
func (c *opCase) run(ctx context.Context, dev *gpu.Device, set *wgsl.Set, side int, patience time.Duration) (Op, error) {
	b := &bench{set: set, kernel: kernel{batch: &gpu.Batch{Label: c.name}}}
	c.record(b, c.n, side)
	cost := b.batch.Cost()
	if c.counted != nil {
		whole := &bench{set: set, kernel: kernel{batch: &gpu.Batch{Label: c.name}}}
		c.counted(whole, c.n, side)
		cost = whole.batch.Cost()
	}
	o := Op{Name: c.name, Of: fmt.Sprintf("%s on %d×%d×%d", c.of, c.n, side, side), Kernel: b.main(), FLOPs: cost.FLOPs, Bytes: cost.Bytes}
	if o.Missing = tooLarge(dev, b.buffers); o.Missing != "" {
		return o, nil
	}
	seconds, err := b.time(ctx, dev, patience)
	if err != nil {
		return o, fmt.Errorf("bench: %s %s: %w", o.Name, o.Of, err)
	}
	o.Seconds = seconds
	return o, nil
}

// main returns the program that does most of the operations.
func (b *bench) main() string {
	most := slices.MaxFunc(b.batch.Commands, func(x, y gpu.Command) int { return cmp.Compare(x.Cost.FLOPs, y.Cost.FLOPs) })
	return most.Program.Label
}

// tooLarge describes the buffer that exceeds the device's limits.
func tooLarge(dev *gpu.Device, buffers []*gpu.Buffer) string {
	for _, b := range buffers {
		if b.Size > dev.Limits().MaxBinding {
			return fmt.Sprintf("a binding of %d bytes, the device allows %d", b.Size, dev.Limits().MaxBinding)
		}
	}
	return ""
}
