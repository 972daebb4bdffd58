package vae

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/x448/float16"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/tests/synthetic"
)

// e5m2 returns the value of a code: a half without its low byte.
func e5m2(code byte) float32 { return float16.Frombits(uint16(code) << 8).Float32() }

// float32raw returns a tensor of F32.
func float32raw(name string, shape []int, values ...float32) synthetic.Raw {
	r := synthetic.Raw{Spec: safetensors.Spec{Name: name, DType: safetensors.F32, Shape: shape}}
	for _, v := range values {
		r.Data = binary.LittleEndian.AppendUint32(r.Data, math.Float32bits(v))
	}
	return r
}

// quantise writes a checkpoint with random weights in 8 bits, laid out by pack, and the
// same weights in floats.
func quantise(t *testing.T, from string, elem safetensors.DType, pack func(q synthetic.Raw, base string) (all []synthetic.Raw, scale func(row int) float32)) (quantised, plain string) {
	t.Helper()
	all, meta, err := synthetic.Read(from)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	var packed, floats []synthetic.Raw
	for _, r := range all {
		base, ok := cutWeight(r.Name)
		if !ok || len(r.Shape) < 2 {
			packed, floats = append(packed, r), append(floats, r)
			continue
		}
		n := len(r.Data) * 8 / r.DType.Bits()
		q := synthetic.Raw{Spec: safetensors.Spec{Name: r.Name, DType: elem, Shape: r.Shape}, Data: make([]byte, n)}
		for i := range q.Data {
			for q.Data[i] = byte(random.Uint32()); elem != safetensors.I8 && q.Data[i]&0x7c == 0x7c; q.Data[i]++ { // avoid infinity
			}
		}
		own, scale := pack(q, base)
		values := make([]float32, n)
		for i, code := range q.Data {
			v := e5m2(code)
			if elem == safetensors.I8 {
				v = float32(int8(code))
			}
			values[i] = float32(float64(v) * float64(scale(i/(n/r.Shape[0]))))
		}
		packed, floats = append(packed, own...), append(floats, float32raw(r.Name, r.Shape, values...))
	}
	quantised, plain = filepath.Join(t.TempDir(), "quantised.safetensors"), filepath.Join(t.TempDir(), "plain.safetensors")
	require.NoError(t, synthetic.Create(quantised, packed, meta))
	require.NoError(t, synthetic.Create(plain, floats, meta))
	return quantised, plain
}

func cutWeight(name string) (base string, ok bool) {
	const end = ".weight"
	if len(name) < len(end) || name[len(name)-len(end):] != end {
		return name, false
	}
	return name[:len(name)-len(end)+1], true
}

// 8-bit weights equal their products with the scales, in every family; the file's layout
// says how.
func TestQuantisedCheckpoints(t *testing.T) {
	one := func(q synthetic.Raw, base string) ([]synthetic.Raw, func(int) float32) {
		return []synthetic.Raw{q, float32raw(base+"scale_weight", []int{1}, 0.003)}, func(int) float32 { return 0.003 }
	}
	rows := func(q synthetic.Raw, base string) ([]synthetic.Raw, func(int) float32) {
		scales := make([]float32, q.Shape[0])
		for i := range scales {
			scales[i] = float32(i+1) / 777
		}
		shape := slices.Repeat([]int{1}, len(q.Shape))
		shape[0] = q.Shape[0]
		name := q.Name
		q.Name += "._data"
		return []synthetic.Raw{q, float32raw(name+"._scale", shape, scales...)}, func(row int) float32 { return scales[row] }
	}
	plain := func(q synthetic.Raw, base string) ([]synthetic.Raw, func(int) float32) {
		return []synthetic.Raw{q}, func(int) float32 { return 1 }
	}
	for name, from := range map[string]string{
		"seedvr2": filepath.Join("..", "assets", "tiny-seedvr2.safetensors"), "wan2.1": tiny(t, synthetic.WanConfig{Dim: 8}),
		"wan2.2": tiny(t, synthetic.WanConfig{Nested: true, Dim: 8, Decoder: 16}), "layered": tiny(t, synthetic.WanConfig{Dim: 12, Channels: 4}),
	} {
		for kind, c := range map[string]struct {
			elem safetensors.DType
			pack func(synthetic.Raw, string) ([]synthetic.Raw, func(int) float32)
		}{
			"F8_E5M2 with scales": {safetensors.F8E5M2, one}, "I8 with scales": {safetensors.I8, rows}, "F8_E5M2": {safetensors.F8E5M2, plain},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				quantised, plain := quantise(t, from, c.elem, c.pack)
				got, err := Inspect(quantised, gpu.Info{}, Settings{Precision: F32})
				require.NoError(t, err)
				defer got.Close()
				want, err := Inspect(plain, gpu.Info{}, Settings{Precision: F32})
				require.NoError(t, err)
				defer want.Close()
				assert.Regexp(t, `^\d+ weights are `+kind+`: dequantised as they are loaded$`, got.Config.Quantised)
				assert.Empty(t, want.Config.Quantised)
				a, b := &reader{tensors: got.tensors}, &reader{tensors: want.tensors}
				for _, s := range want.specs {
					x, err := a.Float32s(nil, s.name)
					require.NoError(t, err)
					y, err := b.Float32s(nil, s.name)
					require.NoError(t, err)
					require.True(t, slices.Equal(y, x), s.name)
				}
				config := got.Config
				config.Quantised = ""
				assert.Equal(t, want.Config, config)
				assert.Equal(t, want.weights, got.weights)
			})
		}
	}
}

// Weights that cannot be dequantised are refused by name, before their shape is checked;
// NaN of an 8-bit float is refused too.
func TestQuantisedRefused(t *testing.T) {
	from := tiny(t, synthetic.WanConfig{Dim: 8})
	all, meta, err := synthetic.Read(from)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "m.safetensors")
	inspect := func(edit func(synthetic.Raw) []synthetic.Raw) (*Model, error) {
		var edited []synthetic.Raw
		for _, r := range all {
			edited = append(edited, edit(r)...)
		}
		require.NoError(t, synthetic.Create(path, edited, meta))
		return Inspect(path, gpu.Info{}, Settings{Precision: F32})
	}
	const name = "decoder.conv1.weight"
	_, err = inspect(func(r synthetic.Raw) []synthetic.Raw {
		if r.Name != name {
			return []synthetic.Raw{r}
		}
		n := len(r.Data) / 4
		return []synthetic.Raw{
			{Spec: safetensors.Spec{Name: name, DType: safetensors.U8, Shape: []int{n, 1}}, Data: make([]byte, n)},
			{Spec: safetensors.Spec{Name: name + ".quant_state.bitsandbytes__nf4", DType: safetensors.U8, Shape: []int{1}}, Data: []byte{0}},
			float32raw(name+".absmax", []int{1}, 1),
		}
	})
	require.ErrorIs(t, err, ErrBadModel)
	require.EqualError(t, err, "vae: "+path+": 1 weights cannot be read, expected floats, or fp8 or int8 with scales: "+name+" is quantised as bitsandbytes' nf4")

	m, err := inspect(func(r synthetic.Raw) []synthetic.Raw {
		if r.Name == name {
			r.DType, r.Data = safetensors.F8E4M3, append(make([]byte, len(r.Data)*8/r.DType.Bits()-1), 0xff)
		}
		return []synthetic.Raw{r}
	})
	require.NoError(t, err)
	defer m.Close()
	_, err = (&reader{tensors: m.tensors}).Float32s(nil, name)
	require.ErrorIs(t, err, errNotFinite)
	require.ErrorContains(t, err, "tensor "+name)
}
