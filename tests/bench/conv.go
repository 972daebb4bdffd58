package main

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"tessera/gpu"
	"tessera/wgsl"
)

// conv is our side: the shape's convolution, recorded once.
type conv struct {
	dev   *gpu.Device
	batch *gpu.Batch
	bufs  []*gpu.Buffer
	shape shape
	x, y  wgsl.Tensor
	in    []byte // x with a frame of zeros before and behind
	out   []byte
}

func newConv(dev *gpu.Device, s shape, x, weight, bias []float32) (*conv, error) {
	at := wgsl.Shape{O: s.C, I: s.C, KT: 3, KS: 3}
	set, err := wgsl.NewSet(wgsl.F32, dev.Info(), nil)
	if err != nil {
		return nil, err
	}
	packing := set.ConvPacking(at, 1)
	packed := make([]float32, packing.Size(at))
	wgsl.Pack(packing, packed, weight, at, nil)
	c := &conv{
		dev: dev, shape: s, batch: &gpu.Batch{Label: "conv3d"},
		x: wgsl.Tensor{Elem: wgsl.F32, T: s.T + 2, H: s.H, W: s.W, C: s.C},
		y: wgsl.Tensor{Elem: wgsl.F32, T: s.T, H: s.H, W: s.W, C: s.C},
	}
	c.x.Buffer = &gpu.Buffer{Label: "x", Size: c.x.Bytes()}
	c.y.Buffer = &gpu.Buffer{Label: "y", Size: c.y.Bytes()}
	w := wgsl.Weights{
		Weight: &gpu.Buffer{Label: "weight", Size: int64(4 * len(packed))},
		Bias:   &gpu.Buffer{Label: "bias", Size: int64(4 * len(bias))}, Elem: wgsl.F32, Packing: packing,
	}
	c.bufs = []*gpu.Buffer{c.x.Buffer, c.y.Buffer, w.Weight, w.Bias}
	set.Conv3D(c.batch, "conv3d", wgsl.Conv3D{
		Weights: w, Taps: []wgsl.Tap{{X: c.x, T: 0}, {X: c.x, T: 1}, {X: c.x, T: 2}}, Step: 1, Stride: 1, Y: c.y, N: s.T,
	})
	if err := dev.Alloc(c.bufs...); err != nil {
		return nil, err
	}
	c.in, c.out = make([]byte, c.x.Bytes()), make([]byte, c.y.Bytes())
	c.layOut(x)
	if err := dev.Write(w.Weight.All(), encode(packed)); err != nil {
		return nil, err
	}
	return c, dev.Write(w.Bias.All(), encode(bias))
}

// layOut puts [C, T, H, W] into c.in, channels last, from frame 1 on.
func (c *conv) layOut(x []float32) {
	s, pixels := c.shape, c.shape.T*c.shape.H*c.shape.W
	frames := c.in[s.H*s.W*s.C*4:]
	for i, v := range x {
		binary.LittleEndian.PutUint32(frames[4*(i%pixels*s.C+i/pixels):], math.Float32bits(v))
	}
}

// output is the result as [C, T, H, W].
func (c *conv) output() ([]float32, error) {
	if err := c.once(); err != nil {
		return nil, err
	}
	s, pixels := c.shape, c.shape.T*c.shape.H*c.shape.W
	y := make([]float32, s.values())
	for i := range y {
		y[i] = math.Float32frombits(binary.LittleEndian.Uint32(c.out[4*(i%pixels*s.C+i/pixels):]))
	}
	return y, nil
}

// once uploads the input, runs, and reads the output back.
func (c *conv) once() error {
	ctx := context.Background()
	if err := c.dev.Write(c.x.Buffer.All(), c.in); err != nil {
		return err
	}
	if err := c.dev.Submit(ctx, c.batch); err != nil {
		return err
	}
	return c.dev.Read(ctx, c.out, c.y.Buffer.All())
}

// best is the shortest of n runs.
func (c *conv) best(n int) (time.Duration, error) {
	best := time.Duration(math.MaxInt64)
	for range n {
		start := time.Now()
		if err := c.once(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return best, nil
}

func (c *conv) close() { c.dev.Free(c.bufs...) }

func encode(v []float32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, v) // fails for no []float32
	return b
}
