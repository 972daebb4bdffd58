//go:build !js

package quantised

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
)

// raw returns a tensor of bytes.
func raw(name string, d safetensors.DType, shape []int, data ...byte) synthetic.Raw {
	return synthetic.Raw{Spec: safetensors.Spec{Name: name, DType: d, Shape: shape}, Data: data}
}

// floats returns a tensor of F32.
func floats(name string, shape []int, values ...float32) synthetic.Raw {
	r := raw(name, safetensors.F32, shape)
	for _, v := range values {
		r.Data = binary.LittleEndian.AppendUint32(r.Data, math.Float32bits(v))
	}
	return r
}

func text(name, s string) synthetic.Raw {
	return raw(name, safetensors.U8, []int{len(s)}, []byte(s)...)
}

// opened writes and opens a file of tensors.
func opened(t *testing.T, meta map[string]string, all ...synthetic.Raw) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.safetensors")
	require.NoError(t, synthetic.Create(path, all, meta))
	f, err := format.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return Open(f)
}

func read(t *testing.T, q *File, name string) []float32 {
	t.Helper()
	x, ok := q.Tensor(name)
	require.True(t, ok, name)
	require.Equal(t, safetensors.F32, x.DType)
	got := make([]float32, x.Elements())
	require.NoError(t, x.ReadF32(got, 0))
	return got
}

// All codes of both 8-bit floats have ml_dtypes' values, without scales and with a scale.
func TestFloat8(t *testing.T) {
	table, err := os.ReadFile("testdata/fp8.txt")
	require.NoError(t, err)
	var codes []byte
	var want [2][]float64
	for line := range strings.Lines(string(table)) {
		field := strings.Fields(line)
		if field[0] == "#" {
			continue
		}
		code, err := strconv.ParseUint(field[0], 16, 8)
		require.NoError(t, err)
		codes = append(codes, byte(code))
		for i := range want {
			v, err := strconv.ParseFloat(field[1+i], 64)
			require.NoError(t, err)
			want[i] = append(want[i], v)
		}
	}
	require.Len(t, codes, 256)
	const scale = float32(0.0123)
	for i, d := range []safetensors.DType{safetensors.F8E4M3, safetensors.F8E5M2} {
		q := opened(t, nil, raw("plain.weight", d, []int{16, 16}, codes...), raw("w.weight", d, []int{4, 4, 4, 2, 2}, codes...), floats("w.scale_weight", []int{1}, scale), raw("w.bias", d, []int{256}, codes...))
		for name, by := range map[string]float64{"plain.weight": 1, "w.bias": 1, "w.weight": float64(scale)} {
			got := read(t, q, name)
			for code, v := range want[i] {
				w := float32(v * by)
				assert.True(t, math.IsNaN(v) && got[code] != got[code] || math.Float32bits(w) == math.Float32bits(got[code]), "%s of %s: code %#x is %v, expected %v", name, d, code, got[code], w)
			}
		}
		require.Equal(t, []string{"plain.weight", "w.weight", "w.bias"}, q.Names())
	}
}

// ones returns n codes of 1 in E4M3.
func ones(n int) []byte { return []byte(strings.Repeat("\x38", n)) }

// Each known layout is read with its scales, which do not appear as tensors.
func TestLayouts(t *testing.T) {
	e4m3, i8 := safetensors.F8E4M3, safetensors.I8
	wide := make([]float32, 200*130)
	for i := range wide {
		wide[i] = []float32{1, 2, 3, 4}[i/130/128*2+i%130/128]
	}
	cases := []struct {
		name string
		meta string
		all  []synthetic.Raw
		want []float32
		says string
	}{
		{"ComfyUI's scaled_fp8", "", []synthetic.Raw{raw("scaled_fp8", e4m3, []int{0}), raw("w.weight", e4m3, []int{2, 2}, 0x38, 0x40, 0xb8, 0x30), floats("w.scale_weight", nil, 0.25), floats("w.scale_input", nil, 3)}, []float32{0.25, 0.5, -0.25, 0.125}, "F8_E4M3 with scales"},
		{"below a prefix", "", []synthetic.Raw{raw("vae.scaled_fp8", e4m3, []int{2}, 0, 0), raw("vae.w.weight", e4m3, []int{1, 2}, 0x38, 0x40), floats("vae.w.scale_weight", []int{1}, 2)}, []float32{2, 4}, ""},
		{"ComfyUI's of a layer in full precision", "", []synthetic.Raw{raw("b.weight", e4m3, []int{1, 1}, 0x38), floats("w.weight", []int{2}, 3, 5), floats("w.scale_weight", nil, 2)}, []float32{6, 10}, "F32 with scales"},
		{"musubi-tuner's, by channel", "", []synthetic.Raw{raw("w.weight", e4m3, []int{2, 2}, ones(4)...), floats("w.scale_weight", []int{2, 1}, 2, 3)}, []float32{2, 2, 3, 3}, ""},
		{"musubi-tuner's, by block", "", []synthetic.Raw{raw("w.weight", e4m3, []int{2, 4}, ones(8)...), floats("w.scale_weight", []int{2, 2, 1}, 2, 3, 4, 5), floats("w.scale_weight_tensor", nil, 10)}, []float32{20, 20, 30, 30, 40, 40, 50, 50}, ""},
		{"ComfyUI's weight_scale", "", []synthetic.Raw{text("w.comfy_quant", `{"format": "float8_e4m3fn", "full_precision_matrix_mult": true}`), raw("w.weight", e4m3, []int{1, 2}, ones(2)...), floats("w.weight_scale", nil, 7), floats("w.input_scale", nil, 3)}, []float32{7, 7}, ""},
		{"fp8 in bytes, by the marker", "", []synthetic.Raw{text("w.comfy_quant", `{"format": "float8_e5m2"}`), raw("w.weight", safetensors.U8, []int{1, 2}, 0x3c, 0xbc), floats("w.weight_scale", nil, 7)}, []float32{7, -7}, "F8_E5M2 with scales"},
		{"by the metadata", `{"format_version": "1.0", "layers": {"w": {"format": "float8_e4m3fn"}}}`, []synthetic.Raw{raw("vae.w.weight", safetensors.U8, []int{1, 2}, ones(2)...), floats("vae.w.weight_scale", nil, 7)}, []float32{7, 7}, ""},
		{"by the metadata, the format alone", `{"layers": {"w": "int8_tensorwise"}}`, []synthetic.Raw{raw("w.weight", i8, []int{2, 1}, 0x80, 0x7f), floats("w.weight_scale", []int{2, 1}, 1, 2)}, []float32{-128, 254}, "I8 with scales"},
		{"int8 by blocks", "", []synthetic.Raw{text("w.comfy_quant", `{"format": "int8_blockwise", "group_size": 128}`), raw("w.weight", i8, []int{256, 1}, []byte(strings.Repeat("\x01", 256))...), floats("w.weight_scale", []int{2, 1}, 2, 3)}, append(slices.Repeat([]float32{2}, 128), slices.Repeat([]float32{3}, 128)...), ""},
		{"blocks of 128 that the matrix ends within", "", []synthetic.Raw{raw("w.weight", e4m3, []int{200, 130}, ones(200*130)...), floats("w.weight_scale_inv", []int{2, 2}, 1, 2, 3, 4)}, wide, ""},
		{"scales in half precision", "", []synthetic.Raw{raw("w.weight", e4m3, []int{2, 1}, ones(2)...), raw("w.weight_scale", safetensors.BF16, []int{2}, 0, 0x40, 0x40, 0x40)}, []float32{2, 3}, ""},
		{"compressed-tensors'", "", []synthetic.Raw{raw("w.weight", i8, []int{2, 1}, 1, 2), floats("w.weight_scale", []int{2, 1}, 3, 4), raw("w.weight_zero_point", i8, []int{2, 1}, 0, 0)}, []float32{3, 8}, ""},
		{"bitsandbytes' int8", "", []synthetic.Raw{raw("w.SCB", safetensors.F32, []int{2}, floats("", nil, 127, 1).Data...), raw("w.weight", i8, []int{2, 2}, 1, 0xff, 127, 0x81), raw("w.weight_format", safetensors.U8, nil, 0)}, []float32{1, -1, 1, -1}, ""},
		{"optimum-quanto's, a convolution", "", []synthetic.Raw{raw("w.weight._data", i8, []int{2, 1, 1, 1, 2}, 1, 2, 3, 4), floats("w.weight._scale", []int{2, 1, 1, 1, 1}, 1, 10), floats("w.input_scale", nil, 3), floats("w.output_scale", nil, 3)}, []float32{1, 2, 30, 40}, ""},
		{"torchao's", "", []synthetic.Raw{raw("w._weight_qdata", i8, []int{2, 2}, 1, 2, 3, 4), floats("w._weight_scale", []int{2, 1}, 1, 10), raw("w._weight_zero_point", i8, []int{2, 1}, 0, 0)}, []float32{1, 2, 30, 40}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var meta map[string]string
			if c.meta != "" {
				meta = map[string]string{"_quantization_metadata": c.meta}
			}
			q := opened(t, meta, append(c.all, floats("w.bias", []int{1}, 1))...)
			require.NotNil(t, q)
			name := "w.weight"
			if strings.HasPrefix(q.Names()[0], "vae.") {
				name = "vae.w.weight"
			}
			require.Empty(t, q.Reason(name))
			require.True(t, slices.Equal(c.want, read(t, q, name)))
			require.Contains(t, q.Kind(name), c.says)
			require.Empty(t, q.Kind("w.bias"))
			require.ElementsMatch(t, []string{name, "w.bias"}, without(q.Names(), "b.weight"))
			for _, hidden := range c.all {
				if w, _ := stored(hidden.Name); w != name && w != "b.weight" {
					_, ok := q.Tensor(hidden.Name)
					require.False(t, ok, hidden.Name)
				}
			}
		})
	}
}

func without(names []string, name string) (rest []string) {
	for _, n := range names {
		if n != name {
			rest = append(rest, n)
		}
	}
	return rest
}

// Any part of a weight can be read, even a single byte.
func TestParts(t *testing.T) {
	codes := make([]byte, 3*20000)
	for i := range codes {
		codes[i] = byte(i * 7)
	}
	q := opened(t, nil, raw("w.weight", safetensors.I8, []int{3, 20000}, codes...), floats("w.weight_scale", []int{3}, 1, 2, 3))
	whole := read(t, q, "w.weight")
	x, _ := q.Tensor("w.weight")
	for _, at := range []int{0, 1, 16383, 19999, 59000} {
		part := make([]float32, 1000)
		require.NoError(t, x.ReadF32(part, at))
		require.Equal(t, whole[at:at+1000], part)
	}
	var text []byte
	for _, v := range whole {
		text = binary.LittleEndian.AppendUint32(text, math.Float32bits(v))
	}
	for _, at := range []int{1, 2, 3, 65535, 239998} {
		part := make([]byte, min(70001, len(text)-at))
		require.NoError(t, x.ReadRaw(part, int64(at)))
		require.Equal(t, text[at:][:len(part)], part, "from byte %d", at)
	}
	require.Error(t, x.ReadRaw(make([]byte, 2), int64(len(text)-1)))
	require.NoError(t, q.Close())
	require.Error(t, x.ReadF32(whole, 0), "closed")
}

// Other quantisations are refused by name, and so are scales that do not fit.
func TestReasons(t *testing.T) {
	e4m3, i8, u8 := safetensors.F8E4M3, safetensors.I8, safetensors.U8
	w := raw("w.weight", e4m3, []int{2, 2}, ones(4)...)
	one := floats("w.weight_scale", nil, 1)
	for want, all := range map[string][]synthetic.Raw{
		`has no scale, but "scaled_fp8" implies "w.scale_weight"`:                   {raw("scaled_fp8", e4m3, []int{0}), w},
		`has no scales, but its metadata says so`:                                   {text("w.comfy_quant", `{"format": "float8_e4m3fn"}`), w},
		`is 8-bit integers without scales`:                                          {raw("w.weight", i8, []int{2, 1}, 1, 2)},
		`is quantised as "nvfp4"`:                                                   {text("w.comfy_quant", `{"format": "nvfp4"}`), raw("w.weight", u8, []int{2, 1}, 1, 2), raw("w.weight_scale", e4m3, []int{2, 1}, 1, 1), floats("w.weight_scale_2", nil, 1)},
		`is quantised as nvfp4, or another with scales of scales`:                   {raw("w.weight", u8, []int{2, 1}, 1, 2), raw("w.weight_scale", e4m3, []int{2, 1}, 1, 1), floats("w.weight_scale_2", nil, 1)},
		`is quantised as "mxfp8"`:                                                   {text("w.comfy_quant", `{"format": "mxfp8"}`), w, raw("w.weight_scale", u8, []int{2, 1}, 1, 1)},
		`has scales "w.weight_scale" of type F8_E8M0, expected floats`:              {w, raw("w.weight_scale", safetensors.F8E8M0, []int{2, 1}, 1, 1)},
		`is quantised as "int8_tensorwise" after a rotation (convrot)`:              {text("w.comfy_quant", `{"format": "int8_tensorwise", "convrot": true, "convrot_groupsize": 256}`), raw("w.weight", i8, []int{2, 1}, 1, 2), one},
		`is quantised as "int8_tensorwise" after a rotation (convrot) `:             {text("w.comfy_quant", `{"format": "int8_tensorwise", "params": {"convrot": true}}`), raw("w.weight", i8, []int{2, 1}, 1, 2), one},
		`is I8, but its metadata says "float8_e4m3fn"`:                              {text("w.comfy_quant", `{"format": "float8_e4m3fn"}`), raw("w.weight", i8, []int{2, 1}, 1, 2), one},
		`is quantised as "unreadable w.comfy_quant"`:                                {text("w.comfy_quant", `{"format"`), w, one},
		`is quantised as bitsandbytes' nf4`:                                         {raw("w.weight", u8, []int{2, 1}, 1, 2), floats("w.weight.absmax", []int{1}, 1), floats("w.weight.quant_map", []int{16}, make([]float32, 16)...), text("w.weight.quant_state.bitsandbytes__nf4", "{}")},
		`is quantised as bitsandbytes' fp4`:                                         {raw("w.weight", u8, []int{2, 1}, 1, 2), floats("w.weight.absmax", []int{1}, 1), text("w.weight.quant_state.bitsandbytes__fp4", "{}")},
		`is quantised as optimum-quanto's with shifts`:                              {raw("w.weight._data", u8, []int{2, 1}, 1, 2), floats("w.weight._scale", []int{2, 1}, 1, 1), floats("w.weight._shift", []int{2, 1}, 1, 1)},
		`is quantised as one that scales what a layer reads`:                        {w, one, floats("w.pre_quant_scale", []int{2}, 1, 1)},
		`has scales of two names, "w.scale_weight" and "w.weight_scale"`:            {w, one, floats("w.scale_weight", nil, 1)},
		`has scales "w.weight_scale" of shape [3], which fit no shape of [2 2]`:     {w, floats("w.weight_scale", []int{3}, 1, 1, 1)},
		`has scales "w.weight_scale" of shape [2 2], which fit no shape of [2 2 1]`: {raw("w.weight", e4m3, []int{2, 2, 1}, ones(4)...), floats("w.weight_scale", []int{2, 2}, 1, 1, 1, 1)},
		`has scales "w.weight_scale" of shape [0]`:                                  {w, floats("w.weight_scale", []int{0})},
		`has "w.scale_weight_tensor" without scales`:                                {w, floats("w.scale_weight_tensor", nil, 1)},
		`appears twice, once as "w.weight._data"`:                                   {w, raw("w.weight._data", i8, []int{2, 1}, 1, 2), floats("w.weight._scale", nil, 1)},
		`is U8 with scales, expected fp8 or int8`:                                   {raw("w.weight", u8, []int{2, 1}, 1, 2), one},
	} {
		t.Run(want, func(t *testing.T) {
			q := opened(t, nil, append(all, floats("w.bias", []int{1}, 1))...)
			require.NotNil(t, q)
			require.Contains(t, q.Reason("w.weight"), strings.TrimSpace(want))
			require.ElementsMatch(t, []string{"w.weight", "w.bias"}, q.Names())
			_, ok := q.Tensor("w.weight")
			require.True(t, ok)
		})
	}
}

// Weights in another order, or with a zero point, are refused when they are read, because
// a header does not show this.
func TestNotAroundZero(t *testing.T) {
	i8 := safetensors.I8
	for want, beside := range map[string]synthetic.Raw{
		`tensor w.weight: "w.weight_zero_point" is not zero`: raw("w.weight_zero_point", i8, []int{2}, 0, 1),
		`tensor w.weight: "w.weight_format" is not zero`:     raw("w.weight_format", safetensors.U8, nil, 1),
	} {
		q := opened(t, nil, raw("w.weight", i8, []int{2, 1}, 1, 2), floats("w.weight_scale", nil, 1), beside)
		require.Empty(t, q.Reason("w.weight"))
		x, _ := q.Tensor("w.weight")
		require.ErrorContains(t, x.ReadF32(make([]float32, 2), 0), strings.ReplaceAll(want, "tensor w.weight", `tensor "w.weight"`))
	}
}

// A file without quantised weights is returned unchanged.
func TestPlain(t *testing.T) {
	require.Nil(t, opened(t, nil, floats("w.weight", []int{2, 1}, 1, 2), raw("mask", safetensors.BOOL, []int{1}, 1), raw("ids", safetensors.I64, []int{1}, 1, 0, 0, 0, 0, 0, 0, 0)))
}

// For any names, types and shapes, a file opens and reads, or gives the reason.
func FuzzOpen(f *testing.F) {
	ends := []string{"w.weight", "w.scale_weight", "w.weight_scale", "w.SCB", "w.comfy_quant", "w.weight._data", "w.weight._scale", "w._weight_qdata", "w._weight_scale", "w.scale_weight_tensor", "w.weight_zero_point", "scaled_fp8", "w.bias", "weight", "weight_scale"}
	types := []safetensors.DType{safetensors.F8E4M3, safetensors.F8E5M2, safetensors.I8, safetensors.U8, safetensors.F16, safetensors.F32, safetensors.F8E8M0}
	f.Add([]byte{0, 0, 4, 4, 1, 5, 2, 1})
	f.Add([]byte{0, 2, 3, 200, 2, 5, 3, 2, 4, 3, 9, 1})
	f.Add([]byte{5, 2, 2, 2, 6, 4, 2, 1, 11, 0, 0, 0})
	f.Fuzz(func(t *testing.T, plan []byte) {
		var all []synthetic.Raw
		seen := map[string]bool{}
		for ; len(plan) >= 4; plan = plan[4:] {
			name, d := ends[int(plan[0])%len(ends)], types[int(plan[1])%len(types)]
			if seen[name] {
				continue
			}
			seen[name] = true
			shape := []int{int(plan[2]), int(plan[3])}
			all = append(all, raw(name, d, shape, make([]byte, shape[0]*shape[1]*d.Bits()/8)...))
		}
		q := opened(t, nil, all...)
		if q == nil {
			return
		}
		for _, name := range q.Names() {
			x, ok := q.Tensor(name)
			require.True(t, ok, name)
			if q.Reason(name) == "" && x.DType.Float() {
				require.NoError(t, x.ReadF32(make([]float32, x.Elements()), 0))
			}
		}
	})
}
