package bench

import (
	"context"
	_ "embed"
	"encoding/binary"
	"math"
	"time"

	"tessera/gpu"
)

var (
	//go:embed fma.wgsl
	fmaText string
	//go:embed copy.wgsl
	copyText string
)

// Roofline is a device's peak, measured by kernels that only compute or only copy.
type Roofline struct {
	GFLOPs float64 `json:"fma_gflops"`       // f32 multiply-adds in registers, two FLOPs each
	GBs    float64 `json:"copy_gbs"`         // read and written by a copy
	Matrix *Matrix `json:"matrix,omitempty"` // if the device has matrix units; shares do not refer to it
}

// share is the part of the roofline that work reaches: the least time for its arithmetic
// or its traffic, over the time it took.
func (r Roofline) share(flops, bytes int64, seconds float64) float64 {
	return max(float64(flops)/r.GFLOPs, float64(bytes)/r.GBs) / 1e9 / seconds
}

// best takes the better of two measurements: other programs may use the device at times.
func (r Roofline) best(again Roofline) Roofline {
	r.GFLOPs, r.GBs = max(r.GFLOPs, again.GFLOPs), max(r.GBs, again.GBs)
	if m := again.Matrix; m != nil && (r.Matrix == nil || m.GFLOPs > r.Matrix.GFLOPs) {
		r.Matrix = m
	}
	return r
}

// Chains and workgroups of the FMA kernel, and the bytes of the copy.
const (
	fmaChains   = 8 // per invocation,
	fmaWide     = 4 // times this if it is wide
	fmaWG       = 64
	fmaSteps    = 4096
	fmaGroups   = 32
	fmaLongest  = 1 << 16 // workgroups
	copyWG      = 256
	copyBytes   = 64 << 20
	scale       = 0.75 // chains settle at shift/(1-scale): neither overflows nor becomes denormal
	shift       = 0.5
	enough      = 30 * time.Millisecond // measured time of a run
	wordBytes   = 4
	vectorBytes = 16
)

// rooflineParams are the parameters of both kernels.
type rooflineParams struct{ First gpu.First }

// MeasureRoofline measures the roofline in about a second.
func MeasureRoofline(ctx context.Context, dev *gpu.Device, patience time.Duration) (Roofline, error) {
	var r Roofline
	for _, f := range fmaForms {
		for groups := uint32(fmaGroups); ; groups *= 4 {
			k := newFMA(groups, fmaSteps, f)
			seconds, err := k.time(ctx, dev, patience/12)
			if err != nil {
				return r, err
			}
			r.GFLOPs = max(r.GFLOPs, float64(k.batch.Cost().FLOPs)/seconds/1e9)
			if seconds > enough.Seconds()/4 || groups >= fmaLongest {
				break
			}
		}
	}
	c := newCopy(copyBytes)
	seconds, err := c.time(ctx, dev, patience/6)
	if err != nil {
		return r, err
	}
	r.GBs = float64(c.batch.Cost().Bytes) / seconds / 1e9
	r.Matrix, err = measureMatrices(ctx, dev, patience/6)
	return r, err
}

// kernel is a batch to time, with its buffers.
type kernel struct {
	batch   *gpu.Batch
	buffers []*gpu.Buffer
	data    []byte // of the first buffer; nil: all have noise
}

// time returns the best time of a batch in seconds. After one run that compiles, it does
// at least three more, and further ones within patience.
func (k *kernel) time(ctx context.Context, dev *gpu.Device, patience time.Duration) (float64, error) {
	defer dev.Free(k.buffers...)
	if err := dev.Alloc(k.buffers...); err != nil {
		return 0, err
	}
	if err := k.fill(dev); err != nil {
		return 0, err
	}
	best, begun := math.Inf(1), time.Now()
	for run := 0; run < 4 || run < 50 && time.Since(begun) < patience; run++ {
		t, err := dev.Time(ctx, k.batch)
		if err != nil {
			return 0, err
		}
		took := t.Total
		if t.Queried {
			took = 0
			for _, c := range t.Commands {
				took += c
			}
		}
		if run > 0 { // the first compiles
			best = min(best, took.Seconds())
		}
		if run > 0 && took > patience {
			break
		}
	}
	return max(best, 1e-9), nil
}

// fill writes data, or else numbers that are neither zero nor large as f32 or halves, to
// every buffer. Zeros take less power, which makes cards faster than they really are.
func (k *kernel) fill(dev *gpu.Device) error {
	if k.data != nil {
		return dev.Write(k.buffers[0].All(), k.data)
	}
	state := uint32(1)
	for _, b := range k.buffers {
		data := make([]byte, min(b.Size, 1<<20))
		for at := 0; at < len(data); at += wordBytes {
			state = state*1664525 + 1013904223
			binary.LittleEndian.PutUint32(data[at:], state&0x83ff83ff|0x38003800)
		}
		for at := int64(0); at < b.Size; at += int64(len(data)) {
			v := gpu.View{Buffer: b, Offset: at}
			if err := dev.Write(v, data[:min(int64(len(data)), b.Size-at)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// fmaForm is a way to write the arithmetic; the fastest one depends on the driver.
type fmaForm struct{ fused, wide float64 }

var fmaForms = []fmaForm{{1, 1}, {1, 0}, {0, 1}, {0, 0}}

func (f fmaForm) chains() int { return fmaChains + fmaWide*int(f.wide) }

// newFMA makes the arithmetic of a number of workgroups.
func newFMA(groups uint32, steps int, f fmaForm) *kernel {
	x := &gpu.Buffer{Label: "fma in", Size: 2 * wordBytes}
	y := &gpu.Buffer{Label: "fma out", Size: int64(groups) * fmaWG * wordBytes}
	p := &gpu.Program{
		Label: "fma", Source: fmaText, Storage: []gpu.Access{gpu.Read, gpu.ReadWrite},
		Constants: map[string]float64{"STEPS": float64(steps), "FUSED": f.fused, "WIDE": f.wide},
	}
	k := &kernel{batch: &gpu.Batch{Label: "fma"}, buffers: []*gpu.Buffer{x, y}}
	for _, v := range []float32{scale, shift} {
		k.data = binary.LittleEndian.AppendUint32(k.data, math.Float32bits(v))
	}
	cost := gpu.Cost{FLOPs: 2 * int64(f.chains()) * fmaWG * int64(groups) * int64(steps), Bytes: y.Size}
	k.batch.Dispatch("fma", p, [3]uint32{groups, 1, 1}, rooflineParams{}, cost, x.All(), y.All())
	return k
}

// newCopy makes a copy of the given bytes.
func newCopy(bytes int64) *kernel {
	x, y := &gpu.Buffer{Label: "copy in", Size: bytes}, &gpu.Buffer{Label: "copy out", Size: bytes}
	p := &gpu.Program{Label: "copy", Source: copyText, Storage: []gpu.Access{gpu.Read, gpu.ReadWrite}}
	k := &kernel{batch: &gpu.Batch{Label: "copy"}, buffers: []*gpu.Buffer{x, y}}
	groups, row := uint32(bytes/vectorBytes/copyWG), uint32(1)
	for row < 256 && groups%(2*row) == 0 {
		row *= 2
	}
	k.batch.Dispatch("copy", p, [3]uint32{row, groups / row, 1}, rooflineParams{}, gpu.Cost{Bytes: 2 * bytes}, x.All(), y.All())
	return k
}
