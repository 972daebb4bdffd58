package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fileOf returns a safetensors file of the header text and n zero bytes of data.
func fileOf(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	return append(b, make([]byte, n)...)
}

func open(b []byte) (*File, error) {
	return Read(bytes.NewReader(b), int64(len(b)), "m.safetensors")
}

// one returns a header of a single tensor "a" with the given fields.
func one(dtype, shape, offsets string) string {
	return `{"a":{"dtype":` + dtype + `,"shape":` + shape + `,"data_offsets":` + offsets + `}}`
}

type badCase struct {
	name string
	file []byte
	want string // part of the message
}

func badFiles() []badCase {
	length := func(n uint64, rest string) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, n), rest...)
	}
	two := func(a, b string) string {
		return `{"a":{"dtype":"F32","shape":[2],"data_offsets":` + a + `},"b":{"dtype":"F32","shape":[2],"data_offsets":` + b + `}}`
	}
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	return []badCase{
		{"empty file", nil, "0 bytes, expected at least the 8"},
		{"seven bytes", make([]byte, 7), "7 bytes, expected at least the 8"},
		{"no header", length(0, ""), "header starts with \"\", expected '{'"},
		{"huge header length", length(100_000_001, "{}"), "header length 100000001, expected at most 100000000"},
		{"negative header length", length(1<<64-1, "{}"), "header length 18446744073709551615, expected at most"},
		{"header longer than the file", length(100_000_000, "0123456789ab"), "header length 100000000, but only 12 bytes follow: truncated"},
		{"starts with a space", fileOf(` {}`, 0), "header starts with \" \", expected '{'"},
		{"an array", fileOf(`[]`, 0), "header starts with \"[\", expected '{'"},
		{"a zip file", []byte("PK\x03\x04\x00\x00\x00\x00\x08\x08\x00\x00\x00\x00"), "not a safetensors file"},
		{"not UTF-8", fileOf("{\"\xff\":{}}", 0), "header is not UTF-8 at byte 2"},
		{"surrogate as UTF-8", fileOf("{\"ab\xed\xa0\x80\":{}}", 0), "header is not UTF-8 at byte 4"},
		{"cut JSON", fileOf(`{"a":{"dtype":"F32"`, 0), "header is not JSON near byte 19: unexpected EOF"},
		{"trailing comma", fileOf(`{"__metadata__":{},}`, 0), "header is not JSON"},
		{"two objects", fileOf(`{}{}`, 0), "header continues after its object"},
		{"zero padding", fileOf("{}\x00\x00", 0), "header continues after its object"},
		{"tensor is no object", fileOf(`{"a":[1]}`, 0), `tensor "a" is an array, expected an object`},
		{"tensor is null", fileOf(`{"a":null}`, 0), `tensor "a" is null, expected an object`},
		{"tensor twice", fileOf(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), `header has the key "a" twice`},
		{"tensor twice by escape", fileOf(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), `header has the key "a" twice`},
		{"field twice", fileOf(`{"a":{"dtype":"F32","dtype":"F16","shape":[0],"data_offsets":[0,0]}}`, 0), `tensor "a" has the key "dtype" twice`},
		{"unknown field's key twice", fileOf(`{"a":{"x":[{"y":1,"y":2}],"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), `tensor "a" has the key "y" twice`},
		{"unknown field too deep", fileOf(`{"a":{"x":`+deep+`,"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), `tensor "a" nests deeper than 128`},
		{"metadata twice", fileOf(`{"__metadata__":{},"__metadata__":{}}`, 0), `header has the key "__metadata__" twice`},
		{"metadata key twice", fileOf(`{"__metadata__":{"k":"1","k":"2"}}`, 0), `__metadata__ has the key "k" twice`},
		{"metadata number", fileOf(`{"__metadata__":{"k":32}}`, 0), `__metadata__: value of "k" is 32, expected a string`},
		{"metadata nested", fileOf(`{"__metadata__":{"k":{}}}`, 0), `__metadata__: value of "k" is an object, expected a string`},
		{"metadata array", fileOf(`{"__metadata__":[]}`, 0), `__metadata__ is an array, expected an object`},
		{"no dtype", fileOf(`{"a":{"shape":[0],"data_offsets":[0,0]}}`, 0), `tensor "a" has no dtype`},
		{"no shape", fileOf(`{"a":{"dtype":"U8","data_offsets":[0,0]}}`, 0), `tensor "a" has no shape`},
		{"no offsets", fileOf(`{"a":{"dtype":"U8","shape":[0]}}`, 0), `tensor "a" has no data_offsets`},
		{"unknown dtype", fileOf(one(`"float32"`, `[1]`, `[0,4]`), 4), `tensor "a": dtype: "float32" is unknown`},
		{"dtype number", fileOf(one(`32`, `[1]`, `[0,4]`), 4), `tensor "a": dtype: is 32, expected a string`},
		{"negative dimension", fileOf(one(`"F32"`, `[-1]`, `[0,4]`), 4), `tensor "a": shape: holds -1, expected integers from 0`},
		{"minus zero", fileOf(one(`"F32"`, `[-0]`, `[0,0]`), 0), `tensor "a": shape: holds -0, expected integers`},
		{"fractional dimension", fileOf(one(`"F32"`, `[1.0]`, `[0,4]`), 4), `tensor "a": shape: holds 1.0, expected integers`},
		{"exponent", fileOf(one(`"F32"`, `[1e2]`, `[0,400]`), 400), `tensor "a": shape: holds 1e2, expected integers`},
		{"dimension past 64 bits", fileOf(one(`"F32"`, `[18446744073709551617]`, `[0,4]`), 4), `tensor "a": shape: holds 18446744073709551617`},
		{"shape is a string", fileOf(one(`"F32"`, `"4"`, `[0,4]`), 4), `tensor "a": shape: is the string "4", expected an array`},
		{"shape holds a string", fileOf(one(`"F32"`, `["4"]`, `[0,4]`), 4), `tensor "a": shape: holds the string "4", expected integers`},
		{"rank 65", fileOf(one(`"F32"`, `[1`+strings.Repeat(",1", 64)+`]`, `[0,4]`), 4), `tensor "a": shape: has more than 64 numbers`},
		{"elements overflow", fileOf(one(`"F32"`, `[4294967296,4294967296]`, `[0,0]`), 0), `tensor "a": shape [4294967296 4294967296] has more than 2^64 elements`},
		{"bytes overflow", fileOf(one(`"F64"`, `[4294967296,1073741824]`, `[0,0]`), 0), `tensor "a": shape [4294967296 1073741824] of F64 is beyond 2^63 bits`},
		{"overflow ahead of zero", fileOf(one(`"F32"`, `[4294967296,4294967296,0]`, `[0,0]`), 0), `has more than 2^64 elements`},
		{"one offset", fileOf(one(`"F32"`, `[1]`, `[4]`), 4), `tensor "a": data_offsets: has 1 numbers, expected 2`},
		{"three offsets", fileOf(one(`"F32"`, `[1]`, `[0,4,8]`), 4), `tensor "a": data_offsets: has more than 2 numbers`},
		{"negative offset", fileOf(one(`"F32"`, `[1]`, `[-4,0]`), 4), `tensor "a": data_offsets: holds -4`},
		{"offsets backwards", fileOf(one(`"F32"`, `[1]`, `[4,0]`), 4), `tensor "a": data_offsets [4,0] end before they begin`},
		{"hole at the start", fileOf(one(`"F32"`, `[1]`, `[4,8]`), 8), `tensor "a": data begins at 4, expected 0: a gap of 4 bytes after the start of the data`},
		{"hole", fileOf(two(`[0,8]`, `[12,20]`), 20), `tensor "b": data begins at 12, expected 8: a gap of 4 bytes after tensor "a"`},
		{"overlap", fileOf(two(`[0,8]`, `[4,12]`), 12), `tensor "b": data begins at 4, expected 8: it overlaps tensor "a"`},
		{"same place", fileOf(two(`[0,8]`, `[0,8]`), 8), `tensor "b": data begins at 0, expected 8: it overlaps tensor "a"`},
		{"size mismatch", fileOf(one(`"F16"`, `[3]`, `[0,4]`), 4), `tensor "a": data_offsets [0,4] hold 4 bytes, shape [3] of F16 needs 6`},
		{"half a byte", fileOf(one(`"F4"`, `[3]`, `[0,2]`), 2), `tensor "a": shape [3] of F4 is 12 bits, expected whole bytes`},
		{"truncated data", fileOf(one(`"F32"`, `[4]`, `[0,16]`), 15), `truncated: tensors end at byte 16 of the data, the file holds 15`},
		{"bytes behind", fileOf(one(`"F32"`, `[4]`, `[0,16]`), 17), `tensors end at byte 16 of the data, but 1 more bytes follow`},
		{"bytes without tensors", fileOf(`{}`, 1), `tensors end at byte 0 of the data, but 1 more bytes follow`},
	}
}

func TestRefused(t *testing.T) {
	for _, c := range badFiles() {
		t.Run(c.name, func(t *testing.T) {
			_, err := open(c.file)
			var format *FormatError
			require.ErrorAs(t, err, &format)
			require.True(t, strings.HasPrefix(err.Error(), "safetensors: m.safetensors: "), "%v", err)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAccepted(t *testing.T) {
	cases := []struct {
		name, header string
		data         int
		names        string
	}{
		{"nothing", `{}`, 0, ""},
		{"padded", `{}` + strings.Repeat(" ", 62), 0, ""},
		{"padded with a newline", "{}\n", 0, ""},
		{"metadata null", `{"__metadata__":null}`, 0, ""},
		{"rank 0", one(`"F32"`, `[]`, `[0,4]`), 4, "a"},
		{"empty tensor", one(`"F32"`, `[3,0,5]`, `[0,0]`), 0, "a"},
		{"unknown field", `{"a":{"x":{"y":[1,{"z":null}]},"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1, "a"},
		{"zero ahead of large", one(`"F32"`, `[0,4294967296,4294967296]`, `[0,0]`), 0, "a"},
		{"name order is not data order", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"e":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}}`, 3, "b e a"},
		{"sub-byte", one(`"F6_E2M3"`, `[4]`, `[0,3]`), 3, "a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, err := open(fileOf(c.header, c.data))
			require.NoError(t, err)
			require.Equal(t, c.names, strings.Join(f.Names(), " "))
		})
	}
}

func TestEveryDType(t *testing.T) {
	sizes := map[DType]int{
		BOOL: 1, U8: 1, I8: 1, F8E5M2: 1, F8E4M3: 1, F8E8M0: 1, F8E4M3FNUZ: 1, F8E5M2FNUZ: 1,
		I16: 2, U16: 2, F16: 2, BF16: 2, I32: 4, U32: 4, F32: 4, C64: 8, I64: 8, U64: 8, F64: 8,
	}
	for d, size := range sizes {
		t.Run(string(d), func(t *testing.T) {
			f, err := open(fileOf(one(`"`+string(d)+`"`, `[3]`, fmt.Sprintf("[0,%d]", 3*size)), 3*size))
			require.NoError(t, err)
			a, _ := f.Tensor("a")
			require.Equal(t, d, a.DType)
			require.Equal(t, 3, a.Elements())
			require.EqualValues(t, 3*size, a.Bytes())
		})
	}
}

// A small file cannot make the reader allocate what its length field claims.
func TestHostileLengthAllocatesLittle(t *testing.T) {
	b := append(binary.LittleEndian.AppendUint64(nil, 100_000_000), "{\"a\":       "...)
	require.LessOrEqual(t, allocated(func() { open(b) }), uint64(64<<10), "bytes allocated for a file of %d", len(b))
	// Nor can a size larger than what the reader has.
	var err error
	got := allocated(func() { _, err = Read(bytes.NewReader(b), 1<<40, "lie") })
	require.Error(t, err, "a header cut short was accepted")
	require.LessOrEqual(t, got, uint64(1<<20), "bytes allocated for %d real ones", len(b))
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestErrorsStayShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	_, err := open(fileOf(`{"`+long+`":7}`, 0))
	require.Error(t, err)
	require.LessOrEqual(t, len(err.Error()), 400, "bytes of error for a name of a megabyte")
}

// FuzzHeader: Read refuses any bytes, or returns tensors that cover the file exactly and
// can all be read.
func FuzzHeader(f *testing.F) {
	for _, c := range badFiles() {
		f.Add(c.file)
	}
	f.Add(fileOf(`{"a":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[],"data_offsets":[4,6]}}  `, 6))
	f.Add(fileOf(`{"__metadata__":{"norm_num_groups":"8"},"a":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		st, err := open(b)
		if err != nil {
			var format *FormatError
			require.ErrorAs(t, err, &format)
			require.LessOrEqual(t, len(err.Error()), 4000, "bytes of error")
			return
		}
		var total int64
		for _, name := range st.Names() {
			a, ok := st.Tensor(name)
			require.True(t, ok, "%q is listed and not found", name)
			raw := make([]byte, a.Bytes())
			require.NoError(t, a.ReadRaw(raw, 0))
			if a.DType.Float() {
				require.NoError(t, a.ReadF32(make([]float32, a.Elements()), 0))
			}
			total += a.Bytes()
		}
		header := int64(binary.LittleEndian.Uint64(b))
		require.Equal(t, int64(len(b))-8-header, total, "bytes that tensors hold")
	})
}
