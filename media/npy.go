package media

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/x448/float16"

	"tessera/format"
)

// maxNPYHeader limits the header's text; NumPy refuses more than 10,000 bytes.
const maxNPYHeader = 10_000

// npyMagic begins a .npy file.
const npyMagic = "\x93NUMPY"

// npyFile is an open .npy file of floats or 8-bit pixels in C order, read by range.
type npyFile struct {
	source io.ReaderAt
	data   int64 // offset of the first element
	shape  []int
	dtype  npyType
}

// npyType is an element type: u1, f2, f4 or f8.
type npyType struct {
	size  int // bytes
	order binary.ByteOrder
}

// openNPY reads the header of a file of size bytes.
func openNPY(r io.ReaderAt, size int64) (*npyFile, error) {
	text, data, err := npyHeader(r, size)
	if err != nil {
		return nil, err
	}
	f := &npyFile{source: r, data: data}
	if f.dtype, f.shape, err = parseNPY(text); err != nil {
		return nil, err
	}
	elements, err := npyElements(f.shape, f.dtype.size)
	if err != nil {
		return nil, err
	}
	if need, have := elements*int64(f.dtype.size), size-data; need > have {
		return nil, fmt.Errorf("truncated: shape %v needs %d bytes of data, the file holds %d", f.shape, need, have)
	} else if need < have {
		return nil, fmt.Errorf("%d bytes follow the data of shape %v, expected none", have-need, f.shape)
	}
	return f, nil
}

// npyHeader returns the header's text, and the offset of the data after it.
func npyHeader(r io.ReaderAt, size int64) (text string, data int64, err error) {
	if err := foreignArray(r); err != nil {
		return "", 0, err
	}
	var prefix [12]byte
	if n, err := r.ReadAt(prefix[:], 0); n < len(prefix) {
		if err == io.EOF {
			err = fmt.Errorf("%d bytes are too few for a .npy header", n)
		}
		return "", 0, err
	}
	if string(prefix[:6]) != npyMagic {
		return "", 0, fmt.Errorf("begins with %q, expected \"\\x93NUMPY\": not a .npy file", prefix[:6])
	}
	var length int64
	switch prefix[6] {
	case 1:
		data, length = 10, int64(binary.LittleEndian.Uint16(prefix[8:]))
	case 2, 3:
		data, length = 12, int64(binary.LittleEndian.Uint32(prefix[8:]))
	default:
		return "", 0, fmt.Errorf("format version %d, expected 1, 2 or 3", prefix[6])
	}
	if length > maxNPYHeader || length > size-data {
		return "", 0, fmt.Errorf("header length %d, expected at most %d: damaged or truncated",
			length, min(maxNPYHeader, size-data))
	}
	buffer := make([]byte, length)
	if n, err := r.ReadAt(buffer, data); n < len(buffer) {
		return "", 0, err
	}
	return string(buffer), data + length, nil
}

// foreignArray says what a file is that should be a .npy or .npz, nil if it is one or is
// unknown.
func foreignArray(r io.ReaderAt) error {
	var magic [len(npyMagic)]byte
	if n, _ := r.ReadAt(magic[:], 0); n == len(magic) && string(magic[:]) == npyMagic {
		return nil
	}
	return format.Foreign(r, "")
}

// npyDict parses the dictionary that NumPy writes, with sorted keys.
func npyDict(text string) (descr, fortran, shape string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimRight(text, " \n"), "{'descr': '")
	for _, field := range []struct {
		to  *string
		end string
	}{{&descr, "', 'fortran_order': "}, {&fortran, ", 'shape': ("}, {&shape, ")"}} {
		var found bool
		*field.to, rest, found = strings.Cut(rest, field.end)
		ok = ok && found
	}
	ok = ok && (fortran == "True" || fortran == "False") && strings.Trim(shape, "0123456789, ") == ""
	return descr, fortran, shape, ok && (rest == ", }" || rest == ",}")
}

// parseNPY reads the header's dictionary.
func parseNPY(text string) (dtype npyType, shape []int, err error) {
	descr, fortran, dims, ok := npyDict(text)
	if !ok {
		return dtype, nil, fmt.Errorf("header %.80q, expected a dictionary of descr, fortran_order and shape", text)
	}
	switch descr {
	case "<f2", "<f4", "<f8":
		dtype = npyType{int(descr[2] - '0'), binary.LittleEndian}
	case ">f2", ">f4", ">f8":
		dtype = npyType{int(descr[2] - '0'), binary.BigEndian}
	case "|u1":
		dtype = npyType{1, binary.LittleEndian}
	default:
		return dtype, nil, fmt.Errorf("dtype %.20q, expected float16, float32 or float64, of pixels uint8 too", descr)
	}
	if fortran == "True" {
		return dtype, nil, fmt.Errorf("array is in Fortran order, expected C order; numpy.ascontiguousarray makes it so")
	}
	for _, field := range strings.Split(dims, ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil {
			return dtype, nil, fmt.Errorf("shape (%.80s): %w", dims, err)
		}
		shape = append(shape, n)
	}
	return dtype, shape, nil
}

// npyElements returns the product of shape, and checks that its bytes fit 63 bits.
func npyElements(shape []int, size int) (int64, error) {
	n := uint64(1)
	for _, d := range shape {
		high, low := bits.Mul64(n, uint64(d))
		if high != 0 || low > math.MaxInt64/uint64(size) {
			return 0, fmt.Errorf("shape %v is beyond 2^63 bytes", shape)
		}
		n = low
	}
	return int64(n), nil
}

// ReadF32 fills dst with the elements from start on, as float32.
func (f *npyFile) ReadF32(dst []float32, start int) error {
	const chunk = 16 << 10
	size := f.dtype.size
	buffer := make([]byte, min(chunk, len(dst))*size)
	for len(dst) > 0 {
		n := min(chunk, len(dst))
		part := buffer[:n*size]
		if got, err := f.source.ReadAt(part, f.data+int64(start)*int64(size)); got < len(part) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		f.dtype.decode(dst[:n], part)
		dst, start = dst[n:], start+n
	}
	return nil
}

// decode reads elements; 8-bit ones are pixels, in [-1,1].
func (d npyType) decode(dst []float32, src []byte) {
	for i := range dst {
		switch d.size {
		case 1:
			dst[i] = float32(src[i])/127.5 - 1
		case 2:
			dst[i] = float16.Frombits(d.order.Uint16(src[2*i:])).Float32()
		case 4:
			dst[i] = math.Float32frombits(d.order.Uint32(src[4*i:]))
		case 8:
			dst[i] = float32(math.Float64frombits(d.order.Uint64(src[8*i:])))
		}
	}
}

// npyPrefix returns everything before the data of a float32 array, padded to 64 bytes as
// in NumPy.
func npyPrefix(shape []int) []byte {
	var dims strings.Builder
	for i, d := range shape {
		if i > 0 {
			dims.WriteString(", ")
		}
		dims.WriteString(strconv.Itoa(d))
	}
	if len(shape) == 1 {
		dims.WriteString(",")
	}
	text := "{'descr': '<f4', 'fortran_order': False, 'shape': (" + dims.String() + "), }"
	length := (10+len(text)+1+63)/64*64 - 10
	prefix := append([]byte("\x93NUMPY\x01\x00"), byte(length), byte(length>>8))
	prefix = append(prefix, text...)
	for len(prefix) < 10+length-1 {
		prefix = append(prefix, ' ')
	}
	return append(prefix, '\n')
}

// floatBytes returns values in little-endian form, in buffer if it is large enough.
func floatBytes(buffer []byte, values []float32) []byte {
	if cap(buffer) < 4*len(values) {
		buffer = make([]byte, 4*len(values))
	}
	buffer = buffer[:4*len(values)]
	for i, v := range values {
		binary.LittleEndian.PutUint32(buffer[4*i:], math.Float32bits(v))
	}
	return buffer
}
