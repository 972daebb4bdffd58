package vae

import (
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/tests/synthetic"
)

// shapes is a file of zeros, by names and shapes alone.
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

// nothing has no bytes, so what believes a shape and reads is told.
type nothing struct{}

func (nothing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }

// FuzzRecognise changes the shapes of every family's files, in every layout:
// three bytes say which tensor and axis, eight what it becomes. Whatever they
// are, the file is refused or taken, in little memory.
func FuzzRecognise(f *testing.F) {
	layouts := [][]synthetic.Spec{synthetic.SeedVR2([]int{4, 4, 4, 4}, 2)}
	for _, c := range []synthetic.WanConfig{{Dim: 4}, {Nested: true, Dim: 4, Decoder: 8}, {Dim: 4, Channels: 4}} {
		original := synthetic.Wan(c)
		n := &wanNames{nested: c.Nested, blocks: 2}
		other := slices.Clone(original)
		for i := range other {
			other[i].Name = n.diffusers(other[i].Name)
		}
		layouts = append(layouts, original, other)
	}
	change := func(tensor uint16, axis byte, to uint64) []byte {
		return binary.LittleEndian.AppendUint64(append(binary.LittleEndian.AppendUint16(nil, tensor), axis), to)
	}
	for i, layout := range layouts {
		f.Add(byte(i), []byte(nil))
		for j := range layout {
			f.Add(byte(i), change(uint16(j), byte(j), []uint64{0, 1, 1 << 16, 1 << 31, 1 << 60}[j%5]))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, changes []byte) {
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
				continue // as the formats refuse it
			}
			file.names = append(file.names, s.Name)
			file.tensors[s.Name] = x
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := InspectFile(file, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
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
