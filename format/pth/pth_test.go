package pth

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
)

// both runs a test with gopickle and with evaluate, which the browser uses.
func both(t *testing.T, f func(t *testing.T, u unpickler)) {
	t.Run("gopickle", func(t *testing.T) { f(t, unpickle) })
	t.Run("evaluate", func(t *testing.T) { f(t, evaluate) })
}

func open(b []byte, u unpickler) (*File, error) {
	return read(bytes.NewReader(b), int64(len(b)), "m.pth", u)
}

// made returns element i of the tensor with number k in testdata, as in make_pth.py.
func made(k, i int) float64 { return float64((31*i+7*k)%256-128) / 4 }

// want is a tensor of testdata: number k, starting at element from.
type want struct {
	name    string
	dtype   safetensors.DType
	shape   []int
	k, from int
}

func network() []want {
	return []want{
		{"0.weight", safetensors.F32, []int{3, 2, 1, 2, 2}, 0, 0}, {"0.bias", safetensors.F32, []int{3}, 1, 0},
		{"1.weight", safetensors.F32, []int{3}, 2, 0}, {"1.bias", safetensors.F32, []int{3}, 3, 0},
		{"1.running_mean", safetensors.F32, []int{3}, 4, 0}, {"1.running_var", safetensors.F32, []int{3}, 5, 0},
		{"1.num_batches_tracked", safetensors.I64, nil, -1, 0},
	}
}

func many() []want {
	var list []want
	for i := range 60 {
		list = append(list, want{fmt.Sprintf("block.%d.weight", i), safetensors.F32, []int{2}, i, 0})
	}
	return list
}

// Files that torch wrote.
func TestTorch(t *testing.T) {
	for file, tensors := range map[string][]want{
		"plain": {
			{"f32", safetensors.F32, []int{2, 3, 1, 2}, 0, 0}, {"f16", safetensors.F16, []int{5}, 1, 0},
			{"bf16", safetensors.BF16, []int{3, 3}, 2, 0}, {"f64", safetensors.F64, []int{7}, 3, 0},
			{"i64", safetensors.I64, []int{4}, -1, 0}, {"u8", safetensors.U8, []int{3}, -1, 0},
			{"scalar", safetensors.F32, nil, 6, 0}, {"empty", safetensors.F32, []int{4, 0}, 7, 0},
			{"one", safetensors.F32, []int{3, 1}, 8, 0},
		},
		"shared": {
			{"a", safetensors.F32, []int{2, 3}, 0, 0}, {"b", safetensors.F32, []int{6}, 0, 6}, {"tied", safetensors.F32, []int{2, 3}, 0, 0},
		},
		"tensor":  {{"tensor", safetensors.F32, []int{3}, 0, 0}},
		"cached":  {{"latents", safetensors.BF16, []int{16, 2, 2, 3}, 5, 0}},
		"ordered": network(), "nested": network(), "parameter": network()[:4], "many": many(),
	} {
		t.Run(file, func(t *testing.T) {
			both(t, func(t *testing.T, u unpickler) {
				b, err := os.ReadFile(filepath.Join("testdata", file+".pth"))
				require.NoError(t, err)
				f, err := open(b, u)
				require.NoError(t, err)
				compare(t, f, tensors)
			})
		})
	}
}

func compare(t *testing.T, f *File, tensors []want) {
	t.Helper()
	require.Len(t, f.Names(), len(tensors))
	for i, w := range tensors {
		got, ok := f.Tensor(w.name)
		require.Equal(t, w.name, f.Names()[i], "tensor %d", i)
		require.True(t, ok, w.name)
		require.Equal(t, w.name, got.Name)
		require.Equal(t, w.dtype, got.DType, w.name)
		require.True(t, slices.Equal(w.shape, got.Shape), "%s: shape %v, want %v", w.name, got.Shape, w.shape)
		if w.k < 0 {
			continue
		}
		values := make([]float32, got.Elements())
		require.NoError(t, got.ReadF32(values, 0))
		for i, v := range values {
			if float64(v) != made(w.k, w.from+i) {
				require.Equal(t, made(w.k, w.from+i), float64(v), "%s[%d]", w.name, i)
			}
		}
	}
}

// Types without a storage class in torch: the tensor states its type.
func TestTorchUntyped(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "float8.pth"))
	require.NoError(t, err)
	both(t, func(t *testing.T, u unpickler) {
		f, err := open(b, u)
		require.NoError(t, err)
		for _, w := range []struct {
			name  string
			dtype safetensors.DType
			shape []int
			data  []byte // 0 to 5.5 in E4M3, 0 to 48 in E5M2
		}{
			{"a", safetensors.F8E4M3, []int{2, 3}, []byte{0, 0x30, 0x38, 0x3c, 0x40, 0x42}},
			{"b", safetensors.F8E4M3, []int{6}, []byte{0x44, 0x46, 0x48, 0x49, 0x4a, 0x4b}},
			{"wide", safetensors.F8E5M2, []int{4}, []byte{0, 0x4c, 0x50, 0x52}},
			{"u16", safetensors.U16, []int{2}, []byte{1, 0, 255, 255}},
			{"scale", safetensors.F32, []int{}, []byte{0, 0, 0, 0x3f}},
		} {
			got, ok := f.Tensor(w.name)
			require.True(t, ok, w.name)
			require.Equal(t, w.dtype, got.DType, w.name)
			require.Equal(t, len(w.shape), len(got.Shape), w.name)
			require.True(t, slices.Equal(w.shape, got.Shape), w.name)
			data := make([]byte, got.Bytes())
			require.NoError(t, got.ReadRaw(data, 0))
			require.Equal(t, w.data, data, w.name)
		}
	})
}

// Files of torch that this package refuses.
func TestTorchRefused(t *testing.T) {
	for file, want := range map[string]string{
		"transposed": `tensor "weight": shape [2 3] has strides [1 2], expected [3 1]: save it again`,
		"legacy":     `torch's format before version 1.6, expected a zip: load it and save it again`,
		"module":     `it uses "torch.nn.modules.container.Sequential", expected only tensors and containers`,
		"protocol4":  `pickle protocol 4, expected 2`,
	} {
		both(t, func(t *testing.T, u unpickler) {
			b, err := os.ReadFile(filepath.Join("testdata", file+".pth"))
			require.NoError(t, err)
			_, err = open(b, u)
			refused(t, err, want)
		})
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	var format *FormatError
	require.ErrorAs(t, err, &format)
	require.True(t, strings.HasPrefix(err.Error(), "pth: m.pth: "), "%v", err)
	require.ErrorContains(t, err, want)
	require.LessOrEqual(t, len(err.Error()), 1000, "bytes of error")
}

// pthtest emits torch's bytes.
func TestPickleIsTorchs(t *testing.T) {
	for file, c := range map[string]struct {
		tensors []want
		o       pthtest.Options
	}{"many": {many(), pthtest.Options{}}} {
		b, err := os.ReadFile(filepath.Join("testdata", file+".pth"))
		require.NoError(t, err)
		a := &archive{r: bytes.NewReader(b), size: int64(len(b)), entries: map[string]zipEntry{}}
		require.NoError(t, a.open())
		torchs, err := a.pickle()
		require.NoError(t, err)
		require.Equal(t, torchs, string(pthtest.Dump(content(c.tensors), c.o)), "%s: pickle", file)
	}
}

// content returns the tensors of testdata.
func content(list []want) []pthtest.Tensor {
	var all []pthtest.Tensor
	for _, w := range list {
		n := 1
		for _, d := range w.shape {
			n *= d
		}
		var b []byte
		for i := range n {
			v := float32(made(w.k, i))
			switch w.dtype {
			case safetensors.F32:
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			case safetensors.BF16:
				b = binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(v)>>16))
			case safetensors.I64:
				b = binary.LittleEndian.AppendUint64(b, uint64(i))
			}
		}
		all = append(all, pthtest.Tensor{Name: w.name, DType: w.dtype, Shape: w.shape, Data: pthtest.Bytes(b)})
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	list := append(network(), want{"half <&>\n", safetensors.BF16, []int{40_000}, 9, 0}, want{"", safetensors.F32, []int{3, 0}, 1, 0})
	for _, o := range []pthtest.Options{{}, {Ordered: true}, {Key: "state_dict"}, {Ordered: true, Key: "module"}, {Key: "model"}} {
		var b bytes.Buffer
		require.NoError(t, pthtest.Write(&b, content(list), o))
		both(t, func(t *testing.T, u unpickler) {
			f, err := open(b.Bytes(), u)
			require.NoError(t, err)
			compare(t, f, list)
			require.EqualValues(t, b.Len(), f.Size())
			require.Equal(t, "m.pth", f.Name())
			require.Empty(t, f.Metadata())
			_, ok := f.Tensor("missing")
			require.False(t, ok, "found a tensor that is not there")
			f.Close()
			x, _ := f.Tensor(list[0].name)
			require.ErrorIs(t, x.ReadF32(make([]float32, 1), 0), os.ErrClosed)
		})
	}
}

// Integers among the tensors are the file's metadata.
func TestNumbers(t *testing.T) {
	var b bytes.Buffer
	numbers := map[string]int{"latent_height": 4, "below": -1, "large": 1 << 40}
	require.NoError(t, pthtest.Write(&b, content(network()), pthtest.Options{Numbers: numbers}))
	both(t, func(t *testing.T, u unpickler) {
		f, err := open(b.Bytes(), u)
		require.NoError(t, err)
		defer f.Close()
		compare(t, f, network())
		require.Equal(t, map[string]string{"latent_height": "4", "below": "-1", "large": "1099511627776"}, f.Metadata())
	})
}

func TestEveryStorage(t *testing.T) {
	for _, d := range []safetensors.DType{
		safetensors.F32, safetensors.F16, safetensors.BF16, safetensors.F64, safetensors.I64,
		safetensors.I32, safetensors.I16, safetensors.I8, safetensors.U8, safetensors.BOOL,
	} {
		raw := []byte("0123456789abcdef")[:2*d.Bits()/8]
		var b bytes.Buffer
		tensor := pthtest.Tensor{Name: "x", DType: d, Shape: []int{2}, Data: pthtest.Bytes(raw)}
		require.NoError(t, pthtest.Write(&b, []pthtest.Tensor{tensor}, pthtest.Options{}))
		both(t, func(t *testing.T, u unpickler) {
			f, err := open(b.Bytes(), u)
			require.NoError(t, err)
			x, _ := f.Tensor("x")
			got := make([]byte, x.Bytes())
			require.NoError(t, x.ReadRaw(got, 0))
			require.Equal(t, d, x.DType)
			require.Equal(t, raw, got, "%s", d)
		})
	}
}

func TestConvert(t *testing.T) {
	var b bytes.Buffer
	w, err := safetensors.NewWriter(&b, []safetensors.Spec{{Name: "x", DType: safetensors.F16, Shape: []int{2, 2}}}, nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(w.Begin("x"), w.WriteF32([]float32{1, 2, 3, 4}), w.Close()))
	from, err := safetensors.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), "x.safetensors")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.pth")
	require.NoError(t, pthtest.Convert(path, from, pthtest.Options{}))
	f, err := Open(path)
	require.NoError(t, err)
	x, _ := f.Tensor("x")
	got := make([]float32, 2)
	require.NoError(t, x.ReadF32(got, 2))
	require.Equal(t, []float32{3, 4}, got)
	require.Equal(t, safetensors.F16, x.DType)
	err = x.ReadF32(got, 3)
	require.Error(t, err)
	require.True(t, strings.HasPrefix(err.Error(), "pth: "+path+`: tensor "x": elements 3 to 5`), "%v", err)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close(), "closed twice")
	require.ErrorIs(t, x.ReadF32(got, 0), os.ErrClosed)
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(dir)
	require.ErrorContains(t, err, dir)
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	var format *FormatError
	_, err = Open(empty)
	require.ErrorAs(t, err, &format)
}

// failing is a file whose bytes from n on cannot be read.
type failing struct {
	b []byte
	n int64
}

func (f failing) ReadAt(dst []byte, offset int64) (int, error) {
	if offset+int64(len(dst)) > f.n {
		return 0, os.ErrPermission
	}
	return bytes.NewReader(f.b).ReadAt(dst, offset)
}

// A read error is not reported as a broken file.
func TestReadError(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, pthtest.Write(&b, content(network()), pthtest.Options{}))
	var format *FormatError
	for _, n := range []int64{0, 600} {
		_, err := Read(failing{b.Bytes(), n}, int64(b.Len()), "m.pth")
		require.ErrorIs(t, err, os.ErrPermission, "unreadable from %d", n)
		require.False(t, errors.As(err, &format), "unreadable from %d: %v", n, err)
		require.True(t, strings.HasPrefix(err.Error(), "pth: m.pth: "), "%v", err)
	}
	_, err := Read(bytes.NewReader(b.Bytes()[:600]), int64(b.Len()), "m.pth")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "shorter than said")
}
