package bench

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"tessera/gpu"
)

//go:embed matrix.wgsl
var matrixText string

// matrixSums is the number of sums in a subgroup.
const matrixSums = 8

// Matrix is the peak of a device's matrix units, in their quickest size.
type Matrix struct {
	Of     string  `json:"of"` // M×N×K of halves, with sums in f32
	GFLOPs float64 `json:"gflops"`

	Missing string `json:"missing,omitempty"` // why no size could be measured
}

// measureMatrices returns nil for a device without matrices of halves with sums in f32.
// It skips a size that the driver lists and then refuses.
func measureMatrices(ctx context.Context, dev *gpu.Device, patience time.Duration) (best *Matrix, err error) {
	for _, m := range dev.Info().Matrices {
		if m.In != "f16" || m.Out != "f32" {
			continue
		}
		now := &Matrix{Of: fmt.Sprintf("%d×%d×%d", m.M, m.N, m.K)}
		if err := now.measure(ctx, dev, m, patience); err != nil {
			if ctx.Err() != nil || errors.Is(err, gpu.ErrDeviceLost) {
				return nil, err
			}
			now.Missing = err.Error()
		}
		if best == nil || now.GFLOPs > best.GFLOPs {
			best = now
		}
	}
	return best, nil
}

// measure adds workgroups until they fill the device.
func (r *Matrix) measure(ctx context.Context, dev *gpu.Device, m gpu.Matrix, patience time.Duration) error {
	for groups := uint32(fmaGroups); groups <= 1<<12; groups *= 4 {
		k := newMatrix(dev.Info(), m, groups, 2048)
		subgroups, err := k.subgroups(ctx, dev)
		if err != nil {
			return err
		}
		seconds, err := k.time(ctx, dev, patience)
		if err != nil {
			return err
		}
		r.GFLOPs = max(r.GFLOPs, float64(k.batch.Cost().FLOPs)*subgroups/seconds/1e9)
		if seconds > enough.Seconds()/4 {
			break
		}
	}
	return nil
}

// matrixKernel counts the FLOPs of one subgroup per workgroup.
type matrixKernel struct{ kernel }

// newMatrix makes the products of a number of workgroups.
func newMatrix(info gpu.Info, m gpu.Matrix, groups uint32, steps int) *matrixKernel {
	a, b := &gpu.Buffer{Label: "left", Size: int64(2 * 2 * m.M * m.K)}, &gpu.Buffer{Label: "right", Size: int64(2 * 4 * m.K * m.N)}
	y := &gpu.Buffer{Label: "sums", Size: int64(groups) * int64(4*matrixSums*m.M*m.N)}
	n := &gpu.Buffer{Label: "subgroups", Size: int64(groups) * wordBytes}
	const R, W = gpu.Read, gpu.ReadWrite
	sizes := fmt.Sprintf("const M = %du;\nconst N = %du;\nconst K = %du;\nconst LANES = %du;\n", m.M, m.N, m.K, info.SubgroupMax)
	p := &gpu.Program{
		Label: "matrix", Source: matrixText + sizes, Storage: []gpu.Access{R, R, W, W}, Constants: map[string]float64{"STEPS": float64(steps)},
	}
	k := &matrixKernel{kernel{batch: &gpu.Batch{Label: "matrix"}, buffers: []*gpu.Buffer{a, b, y, n}}}
	cost := gpu.Cost{FLOPs: 2 * matrixSums * int64(m.M*m.N*m.K) * int64(groups) * int64(steps), Bytes: y.Size}
	k.batch.Dispatch("matrix", p, [3]uint32{groups, 1, 1}, rooflineParams{}, cost, a.All(), b.All(), y.All(), n.All())
	return k
}

// subgroups runs the kernel to count the subgroups of a workgroup.
func (k *matrixKernel) subgroups(ctx context.Context, dev *gpu.Device) (float64, error) {
	n := k.buffers[3]
	defer dev.Free(k.buffers...)
	if err := dev.Alloc(k.buffers...); err != nil {
		return 0, err
	}
	if err := dev.Submit(ctx, k.batch); err != nil {
		return 0, err
	}
	raw := make([]byte, wordBytes)
	err := dev.Read(ctx, raw, gpu.View{Buffer: n, Size: wordBytes})
	return float64(binary.LittleEndian.Uint32(raw)), err
}
