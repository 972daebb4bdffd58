package main

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
)

// A checkpoint of int8 with a scale per channel gives, to the bit, the results of its
// dequantised numbers, with one note; without its scales it is refused.
func TestQuantisedCheckpoint(t *testing.T) {
	t.Parallel()
	needDevice(t)
	all, meta, err := synthetic.Read(tiny)
	require.NoError(t, err)
	f, err := safetensors.Open(tiny)
	require.NoError(t, err)
	defer f.Close()
	floats := func(name string, shape []int, values []float32) synthetic.Raw {
		r := synthetic.Raw{Spec: safetensors.Spec{Name: name, DType: safetensors.F32, Shape: shape}}
		for _, v := range values {
			r.Data = binary.LittleEndian.AppendUint32(r.Data, math.Float32bits(v))
		}
		return r
	}
	var packed, bare, plain []synthetic.Raw
	for _, r := range all {
		base, ok := strings.CutSuffix(r.Name, ".weight")
		if !ok || len(r.Shape) < 2 {
			packed, bare, plain = append(packed, r), append(bare, r), append(plain, r)
			continue
		}
		x, _ := f.Tensor(r.Name)
		values := make([]float32, x.Elements())
		require.NoError(t, x.ReadF32(values, 0))
		q := synthetic.Raw{Spec: safetensors.Spec{Name: r.Name, DType: safetensors.I8, Shape: r.Shape}}
		scales, row := make([]float32, r.Shape[0]), len(values)/r.Shape[0]
		for o := range scales {
			for _, v := range values[o*row:][:row] {
				scales[o] = max(scales[o], float32(math.Abs(float64(v)))/127)
			}
			for i, v := range values[o*row:][:row] {
				code := int8(math.Round(float64(v) / float64(max(scales[o], 1e-30))))
				q.Data, values[o*row+i] = append(q.Data, byte(code)), float32(float64(code)*float64(scales[o]))
			}
		}
		packed = append(packed, q, floats(base+".weight_scale", []int{r.Shape[0], 1}, scales))
		bare, plain = append(bare, q), append(plain, floats(r.Name, r.Shape, values))
	}
	dir, z := t.TempDir(), latentFile(t, 16, 2, 2, 3)
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, tensors := range map[string][]synthetic.Raw{"packed": packed, "bare": bare, "plain": plain} {
		require.NoError(t, synthetic.Create(path(name+".safetensors"), tensors, meta))
	}
	o := succeed(t, "decode", "-m", path("packed.safetensors"), z, "-o", path("packed.npy"))
	assert.Equal(t, 1, strings.Count(o.stderr, "weights are I8 with scales: dequantised as they are loaded"), o.stderr)
	succeed(t, "decode", "-m", path("plain.safetensors"), z, "-o", path("plain.npy"))
	assert.Equal(t, readNPY(t, path("plain.npy")), readNPY(t, path("packed.npy")))
	assert.Contains(t, succeed(t, "info", path("packed.safetensors")).stdout, " I8")
	refuse(t, []refusal{{name: "without scales", args: "decode -m " + path("bare.safetensors") + " " + z + " -o OUT.npy", code: job.ExitInput, want: "weight is 8-bit integers without scales"}})
}
