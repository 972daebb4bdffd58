package gputest

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// An exported case has everything needed to run it elsewhere: the commands of both runs
// in order, their separate buffers and their shared inputs.
func TestExport(t *testing.T) {
	program := &gpu.Program{Label: "p", Source: "text", Constants: map[string]float64{"K": 2}, Storage: []gpu.Access{gpu.Read, gpu.ReadWrite}}
	type params struct {
		First gpu.First
		N     uint32
	}
	c := Case{
		Op: "add", In: []Array{{Label: "x", Data: []float32{1, 2}, Guard: 1}},
		Out: Array{Label: "y", Format: Float16, Len: 2, Guard: 4}, Scratch: []int64{8},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			b.Clear("clear", scratch[0].All())
			b.Copy("copy", gpu.View{Buffer: scratch[0], Offset: 4, Size: 4}, gpu.View{Buffer: in[0], Offset: 8})
			b.Dispatch("add", program, [3]uint32{70000, 2, 1}, params{N: 7}, gpu.Cost{}, in[0].All(), out.All())
		},
		Want: []float64{3, math.Inf(1)}, Bound: 1e-6,
	}
	folder := t.TempDir()
	require.NoError(t, c.export(t, folder))
	require.NoError(t, c.export(t, folder), "a second case of a test")

	text, err := os.ReadFile(filepath.Join(folder, "TestExport.2.json"))
	require.NoError(t, err)
	var got exported
	require.NoError(t, json.Unmarshal(text, &got))
	data, err := os.ReadFile(filepath.Join(folder, "TestExport.2.bin"))
	require.NoError(t, err)

	require.Equal(t, []exportedProgram{{"p", "text", program.Constants, []bool{false, true}}}, got.Programs)
	require.Equal(t, []string{"x", "scratch", "y", "scratch", "y"}, []string{
		got.Buffers[0].Label, got.Buffers[1].Label, got.Buffers[2].Label, got.Buffers[3].Label, got.Buffers[4].Label})
	require.Equal(t, []int{0}, got.In)
	require.Equal(t, [2]int{2, 4}, got.Out)
	require.Nil(t, got.Buffers[1].Data, "scratch is poisoned by who runs it")
	at := got.Buffers[0].Data
	require.Equal(t, c.In[0].encode(), data[at.At:at.At+at.Bytes])
	require.Equal(t, []float64{3, math.Inf(1)}, []float64{
		math.Float64frombits(binary.LittleEndian.Uint64(data[got.Want.At:])),
		math.Float64frombits(binary.LittleEndian.Uint64(data[got.Want.At+8:]))})
	require.Equal(t, [3]any{"f16", 8, 1e-6}, [3]any{got.Format, got.Guard, got.Bound})

	require.Len(t, got.Commands, 6, "three of each run")
	second := got.Commands[3:]
	require.Equal(t, &exportedView{3, 0, 8}, second[0].Dst)
	require.Nil(t, second[0].Src, "a clear")
	require.Equal(t, &exportedView{0, 8, 4}, second[1].Src)
	require.Equal(t, &exportedView{3, 4, 4}, second[1].Dst)
	require.Equal(t, &[3]uint32{70000, 2, 1}, second[2].Groups)
	require.Equal(t, []uint32{0, 0, 0, 0, 7, 0, 0, 0}, second[2].Params)
	require.Equal(t, []exportedView{{0, 0, 16}, {4, 0, 20}}, second[2].Bindings)
}
