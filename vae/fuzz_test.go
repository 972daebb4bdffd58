package vae

import (
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// shapes is a file of zeros, given by names and shapes alone.
type shapes struct {
	names   []string
	tensors map[string]safetensors.Tensor
}

func (s *shapes) Name() string                { return "shapes" }
func (s *shapes) Size() int64                 { return 1 << 40 }
func (s *shapes) Names() []string             { return s.names }
func (s *shapes) Metadata() map[string]string { return map[string]string{"norm_num_groups": "2"} }
func (s *shapes) Close() error                { return nil }
func (s *shapes) Tensor(name string) (safetensors.Tensor, bool) {
	t, ok := s.tensors[name]
	return t, ok
}

// nothing has no bytes, so a reader that trusts a shape gets an error.
type nothing struct{}

func (nothing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }

// headed is a file that ends after its header.
type headed []byte

func (h headed) ReadAt(b []byte, at int64) (int, error) {
	if at >= int64(len(h)) {
		return nothing{}.ReadAt(b, at)
	}
	n := copy(b, h[at:])
	if n < len(b) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

// header returns the header of a safetensors file and the length of its data; ok is false
// if no file can be as long.
func header(specs []synthetic.Spec) (text []byte, data int64, ok bool) {
	text = []byte(`{"__metadata__":{"norm_num_groups":"2"}`)
	for _, s := range specs {
		text = append(append(append(text, `,"`...), s.Name...), `":{"dtype":"F32","shape":[`...)
		size := 4.0
		for i, n := range s.Shape {
			if i > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(text, int64(n), 10)
			size *= float64(n)
		}
		if size < 0 || size > 1<<50 {
			return nil, 0, false
		}
		text = strconv.AppendInt(append(text, `],"data_offsets":[`...), data, 10)
		data += int64(size)
		text = append(strconv.AppendInt(append(text, ','), data, 10), `]}`...)
	}
	return append(text, '}'), data, true
}

// fromBytes returns a file with such a header after some bytes were changed, and its
// size: two bytes choose the position, one the value.
func fromBytes(specs []synthetic.Spec, changes []byte) (file headed, size int64, ok bool) {
	text, data, ok := header(specs)
	for ; ok && len(changes) >= 3; changes = changes[3:] {
		text[int(binary.LittleEndian.Uint16(changes))%len(text)] = changes[2]
	}
	file = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	return file, int64(len(file)) + data, ok
}

// FuzzRecognise changes the shapes of every family's files, in every layout: three bytes
// choose tensor and axis, eight the new size. With further bytes it writes a header and
// changes some of its bytes. The file must be refused or accepted in little memory.
func FuzzRecognise(f *testing.F) {
	layouts := [][]synthetic.Spec{synthetic.SeedVR2([]int{4, 4, 4, 4}, 2)}
	for _, c := range []synthetic.WanConfig{{Dim: 4}, {Nested: true, Dim: 4, Decoder: 8}, {Dim: 4, Channels: 4}, {Dim: 4, Outputs: 12}, {Still: true, Dim: 4, Decoder: 8}} {
		original := synthetic.Wan(c)
		n := &wanNames{nested: c.Nested || c.Still, blocks: 2}
		other := slices.Clone(original)
		for i := range other {
			other[i].Name = n.diffusers(other[i].Name)
			if c.Still && len(other[i].Shape) == 5 {
				other[i].Shape = slices.Delete(slices.Clone(other[i].Shape), 2, 3)
			}
		}
		layouts = append(layouts, original, other)
	}
	layouts = append(layouts, synthetic.TAESD(synthetic.TAESDConfig{Encoder: []int{4, 4, 4, 4}, Decoder: []int{4, 4, 4, 4}, Pools: true}), synthetic.TAESD(smallTAEQI))
	for _, c := range []synthetic.LTXConfig{ltx20Small, ltx23Small} {
		original := synthetic.LTX(c)
		other := slices.Clone(original)
		for i := range other {
			other[i].Name = inDiffusers(other[i].Name)
		}
		layouts = append(layouts, original, other)
	}
	change := func(tensor uint16, axis byte, to uint64) []byte {
		return binary.LittleEndian.AppendUint64(append(binary.LittleEndian.AppendUint16(nil, tensor), axis), to)
	}
	short := testenv.Short(f)
	for i, layout := range layouts {
		file, size, ok := fromBytes(layout, nil)
		require.True(f, ok)
		_, err := safetensors.Read(file, size, "a header as it is")
		require.NoError(f, err)
		f.Add(byte(i), []byte(nil), []byte(nil))
		f.Add(byte(i), []byte(nil), []byte{0, 0, '{'}) // unchanged
		for j := range layout {
			if j%3 > 0 && short {
				continue
			}
			shape := change(uint16(j), byte(j), []uint64{0, 1, 1 << 16, 1 << 31, 1 << 60}[j%5])
			f.Add(byte(i), shape, []byte(nil))
			for axis := range min(len(layout[j].Shape), 2) { // no bytes at all, and many channels
				empty := append(change(uint16(j), byte(axis+1), 0), change(uint16(j), byte(axis), 1<<60)...)
				f.Add(byte(i), empty, []byte(nil))
				f.Add(byte(i), empty, []byte{0, 0, '{'})
			}
			if j%8 == 0 {
				f.Add(byte(i), shape, []byte{byte(40 * j), byte(j / 6), "09]\",[.F-e\\"[j/8%10]})
			}
		}
	}
	f.Fuzz(func(t *testing.T, which byte, changes, text []byte) {
		specs := slices.Clone(layouts[int(which)%len(layouts)])
		for ; len(changes) >= 11; changes = changes[11:] {
			s := &specs[int(binary.LittleEndian.Uint16(changes))%len(specs)]
			s.Shape = slices.Clone(s.Shape)
			s.Shape[int(changes[2])%len(s.Shape)] = int(binary.LittleEndian.Uint64(changes[3:]))
		}
		file := &shapes{tensors: map[string]safetensors.Tensor{}}
		for _, s := range specs {
			x, err := safetensors.NewTensor("shapes", s.Name, safetensors.F32, s.Shape, nothing{}, 0)
			if err != nil {
				continue // the formats refuse it too
			}
			file.names = append(file.names, s.Name)
			file.tensors[s.Name] = x
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var m *Model
		var err error
		if header, size, ok := fromBytes(specs, text); ok && len(text) > 0 {
			m, err = InspectReader(header, size, "header", gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		} else {
			m, err = InspectFile(file, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), "bytes allocated")
		if err != nil {
			require.True(t, errors.Is(err, ErrBadModel), "%v", err)
			require.Less(t, len(err.Error()), 16<<10)
			return
		}
		require.LessOrEqual(t, m.Config.Latent, maxDim)
	})
}
