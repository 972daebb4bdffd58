package vae

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format"
	"tessera/format/safetensors"
)

// An all-zero weight, which an interrupted download leaves, is refused on its way to the
// device, however it is stored and read; a bias may be all zero.
func TestZeroWeights(t *testing.T) {
	for _, dtype := range []safetensors.DType{safetensors.F16, safetensors.BF16, safetensors.F32} {
		specs := []safetensors.Spec{
			{Name: "zero.weight", DType: dtype, Shape: []int{2, 3}}, {Name: "last.weight", DType: dtype, Shape: []int{2, 3}},
			{Name: "negative.weight", DType: dtype, Shape: []int{2, 3}}, {Name: "zero.bias", DType: dtype, Shape: []int{6}},
		}
		var b bytes.Buffer
		w, err := safetensors.NewWriter(&b, specs, nil)
		require.NoError(t, err)
		negative := float32(0)
		for i, values := range [][]float32{make([]float32, 6), {0, 0, 0, 0, 0, 1}, {-negative, 0, 0, 0, 0, 0}, make([]float32, 6)} {
			require.NoError(t, w.Begin(specs[i].Name))
			require.NoError(t, w.WriteF32(values))
		}
		require.NoError(t, w.Close())
		f, err := format.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), "half.safetensors")
		require.NoError(t, err)
		r := &reader{tensors: tensors{file: f, name: func(name string) string { return name }}}
		read := func(name string) []error {
			wide, err1 := r.Float32s(nil, name)
			half, err2 := r.Float16s(nil, name)
			require.Equal(t, []int{6, 6}, []int{len(wide), len(half)})
			return []error{err1, err2}
		}
		for _, err := range append(read("zero.weight"), read("negative.weight")...) {
			require.ErrorIs(t, err, ErrBadModel, dtype)
			require.ErrorIs(t, err, errZero, dtype)
		}
		require.EqualError(t, read("zero.weight")[0], "vae: half.safetensors: tensor zero.weight of shape [2 3] is all zero, perhaps from an incomplete download: use another copy, or --force to load it")
		for _, name := range []string{"last.weight", "zero.bias"} {
			require.Equal(t, []error{nil, nil}, read(name), "%s: %s", dtype, name)
		}
		r.force = true
		require.Equal(t, []error{nil, nil}, read("zero.weight"), dtype)
	}
}
