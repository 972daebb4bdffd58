package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"tessera/format/json"
	"tessera/format/quote"
)

// Spec declares a tensor to write.
type Spec struct {
	Name  string
	DType DType
	Shape []int
}

// Writer streams a file: the header first, then each tensor's data in the
// order of the specs.
//
//	w, err := NewWriter(out, specs, nil)
//	for each spec: w.Begin(name), then w.Write or w.WriteF32 as often as needed
//	err = w.Close()
//
// An error leaves the file unfinished; the caller discards it.
type Writer struct {
	out    io.Writer
	specs  []Spec
	next   int   // index of Begin's next spec
	left   int64 // missing bytes of the current tensor
	buffer []byte
}

// NewWriter checks the specs and writes the header to out. metadata may be nil. Many
// small writes to out follow: buffer it if they are expensive.
func NewWriter(out io.Writer, specs []Spec, metadata map[string]string) (*Writer, error) {
	text, _, err := encodeHeader(specs, metadata)
	if err != nil {
		return nil, err
	}
	prefix := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	for _, part := range [][]byte{prefix, text} {
		if _, err := out.Write(part); err != nil {
			return nil, fmt.Errorf("safetensors: write header: %w", err)
		}
	}
	return &Writer{out: out, specs: slices.Clone(specs)}, nil
}

// Size returns the size of a file with these specs: the header, as its length field
// counts it, and the tensor data. The file has 8 + header + data bytes.
func Size(specs []Spec, metadata map[string]string) (header, data int64, err error) {
	text, data, err := encodeHeader(specs, metadata)
	return int64(len(text)), data, err
}

// Begin starts the next tensor, which must be called name; the previous one must be
// complete.
func (w *Writer) Begin(name string) error {
	if err := w.complete(); err != nil {
		return err
	}
	if w.next == len(w.specs) {
		return fmt.Errorf("safetensors: tensor %s written behind the last of %d", quote.Name(name), len(w.specs))
	}
	spec := w.specs[w.next]
	if spec.Name != name {
		return fmt.Errorf("safetensors: tensor %s written, expected %s", quote.Name(name), quote.Name(spec.Name))
	}
	_, size, err := extent(spec.DType, spec.Shape)
	w.next, w.left = w.next+1, size
	return err
}

// Write appends bytes, little-endian, to the current tensor.
func (w *Writer) Write(p []byte) (int, error) {
	if int64(len(p)) > w.left {
		return 0, fmt.Errorf("safetensors: %s: %d bytes too many", w.current(), int64(len(p))-w.left)
	}
	n, err := w.out.Write(p)
	w.left -= int64(n)
	if err != nil {
		return n, fmt.Errorf("safetensors: write %s: %w", w.current(), err)
	}
	return n, nil
}

// WriteF32 converts values to the tensor's type, F16, BF16, F32 or F64, and appends them.
func (w *Writer) WriteF32(values []float32) error {
	if w.next == 0 {
		return fmt.Errorf("safetensors: %s: data written", w.current())
	}
	dtype := w.specs[w.next-1].DType
	if !dtype.Float() {
		return fmt.Errorf("safetensors: %s: dtype is %s, expected F16, BF16, F32 or F64", w.current(), dtype)
	}
	size := dtype.Bits() / 8
	if w.buffer == nil {
		w.buffer = make([]byte, chunk*8)
	}
	for part := range slices.Chunk(values, chunk) {
		encode(w.buffer, part, dtype)
		if _, err := w.Write(w.buffer[:len(part)*size]); err != nil {
			return err
		}
	}
	return nil
}

// Close checks that every declared byte was written. It does not close the
// underlying writer.
func (w *Writer) Close() error {
	if err := w.complete(); err != nil {
		return err
	}
	if w.next < len(w.specs) {
		return fmt.Errorf("safetensors: %d of %d tensors written, %s is missing",
			w.next, len(w.specs), quote.Name(w.specs[w.next].Name))
	}
	return nil
}

func (w *Writer) complete() error {
	if w.left != 0 {
		return fmt.Errorf("safetensors: %s: %d bytes missing", w.current(), w.left)
	}
	return nil
}

func (w *Writer) current() string {
	if w.next == 0 {
		return "before the first tensor"
	}
	return "tensor " + quote.Name(w.specs[w.next-1].Name)
}

// encodeHeader returns the header's text, padded with spaces to 8 bytes, and the size of
// the declared data.
func encodeHeader(specs []Spec, metadata map[string]string) ([]byte, int64, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	if len(metadata) > 0 {
		for key, value := range metadata {
			if !utf8.ValidString(key) || !utf8.ValidString(value) {
				return nil, 0, fmt.Errorf("safetensors: metadata %s is not UTF-8", quote.Name(key))
			}
		}
		text.WriteString(`"` + metadataKey + `":`)
		text.Write(json.Marshal(metadata)) // with sorted keys
	}
	var end int64
	seen := map[string]bool{metadataKey: true}
	for _, s := range specs {
		_, size, err := extent(s.DType, s.Shape)
		switch {
		case err != nil:
			return nil, 0, fmt.Errorf("safetensors: tensor %s: %w", quote.Name(s.Name), err)
		case size > math.MaxInt64-end:
			return nil, 0, fmt.Errorf("safetensors: tensor %s: data passes 2^63 bytes", quote.Name(s.Name))
		case len(s.Shape) > maxRank:
			return nil, 0, fmt.Errorf("safetensors: tensor %s: rank %d, expected at most %d", quote.Name(s.Name), len(s.Shape), maxRank)
		case !utf8.ValidString(s.Name):
			return nil, 0, fmt.Errorf("safetensors: tensor %s: name is not UTF-8", quote.Name(s.Name))
		case seen[s.Name]:
			return nil, 0, fmt.Errorf("safetensors: tensor %s: name is reserved or used twice", quote.Name(s.Name))
		}
		seen[s.Name] = true
		if text.Len() > 1 {
			text.WriteByte(',')
		}
		appendEntry(&text, s, end, end+size)
		end += size
	}
	text.WriteByte('}')
	for text.Len()%8 != 0 {
		text.WriteByte(' ')
	}
	if text.Len() > maxHeader {
		return nil, 0, fmt.Errorf("safetensors: header of %d bytes, the format allows %d", text.Len(), maxHeader)
	}
	return text.Bytes(), end, nil
}

func appendEntry(text *bytes.Buffer, s Spec, begin, end int64) {
	text.Write(json.Marshal(s.Name))
	text.WriteString(`:{"dtype":"` + string(s.DType) + `","shape":[`)
	for i, d := range s.Shape {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.Itoa(d))
	}
	fmt.Fprintf(text, `],"data_offsets":[%d,%d]}`, begin, end)
}
