package gpu_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// count adds to every word the number of times its group has run, slowly.
const count = `
struct Params { first: vec4<u32>, rounds: u32, }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>) {
    let g = workgroup + params.first.xyz;
    let i = g.x + params.first.w * (g.y + 3u * g.z);
    var v = 1u;
    for (var r = 0u; r < params.rounds; r++) { v = v * 1664525u + 1013904223u; }
    y[i] += 1u + (v & 0u);
}`

type countParams struct {
	First  gpu.First
	Rounds uint32
}

func counter(source string) *gpu.Program {
	return &gpu.Program{Label: "count", Source: source, Storage: []gpu.Access{gpu.ReadWrite}}
}

func words(t *testing.T, dev *gpu.Device, b *gpu.Buffer) []uint32 {
	t.Helper()
	raw := make([]byte, b.Size)
	require.NoError(t, dev.Read(context.Background(), raw, b.All()))
	v := make([]uint32, len(raw)/4)
	for i := range v {
		v[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return v
}

// A dispatch that is far too long for one submission, and wider than the device's grid,
// runs every group exactly once.
func TestLongDispatchIsCut(t *testing.T) {
	dev := gputest.Open(t)
	width := uint32(70000)
	y := &gpu.Buffer{Label: "y", Size: int64(4 * width * 3 * 2)}
	require.NoError(t, dev.Alloc(y))
	b := &gpu.Batch{Label: "long"}
	b.Dispatch("count", counter(count), [3]uint32{width, 3, 2}, countParams{Rounds: 500}, gpu.Cost{FLOPs: 40e9}, y.All())
	require.NoError(t, dev.Submit(context.Background(), b))
	for i, v := range words(t, dev, y) {
		if v != 1 { // require would take seconds
			t.Fatalf("group %d ran %d times", i, v)
		}
	}
	s := dev.Stats()
	require.GreaterOrEqual(t, s.Submissions, 3, "for 40 s of work at the first guess")
	t.Logf("%d submissions, longest %v", s.Submissions, s.Longest)
}

// A batch submitted again creates no pipeline, bind group or buffer.
func TestReplayMakesNothing(t *testing.T) {
	dev := gputest.Open(t)
	x, y := &gpu.Buffer{Label: "x", Size: 4096}, &gpu.Buffer{Label: "y", Size: 4096}
	require.NoError(t, dev.Alloc(x, y))
	b := &gpu.Batch{Label: "replay"}
	for range 3 { // three Program values of equal content
		b.Dispatch("x", counter(count), [3]uint32{8, 1, 1}, countParams{}, gpu.Cost{}, x.All())
		b.Dispatch("y", counter(count), [3]uint32{8, 1, 1}, countParams{}, gpu.Cost{}, y.All())
		b.Copy("copy", gpu.View{Buffer: y, Offset: 256, Size: 256}, gpu.View{Buffer: x, Size: 256})
	}
	run := func() gpu.Stats {
		require.NoError(t, dev.Submit(context.Background(), b))
		return dev.Stats()
	}
	first := run()
	require.Equal(t, [3]int{1, 2, 2}, made(first), "pipelines, bind groups and buffers that the first run made")
	var last gpu.Stats
	for range 5 {
		last = run()
	}
	require.Equal(t, made(first), made(last), "replays made pipelines, bind groups or buffers")
	require.EqualValues(t, 18, words(t, dev, x)[7], "runs counted")
	dev.Free(x)
	require.NoError(t, dev.Alloc(x))
	require.Equal(t, made(first), made(run()), "freed memory was not used again")
	require.EqualValues(t, 3, words(t, dev, x)[0], "runs counted in new memory")
}

// A device survives more bind groups than a process may have memory mappings; lavapipe
// makes a mapping for each.
func TestManyBindGroups(t *testing.T) {
	dev := gputest.Open(t)
	const n, apart = 70000, 256
	y := &gpu.Buffer{Label: "y", Size: n * apart}
	require.NoError(t, dev.Alloc(y))
	b := &gpu.Batch{Label: "many"}
	for i := range int64(n) {
		b.Dispatch("count", counter(count), [3]uint32{1, 1, 1}, countParams{}, gpu.Cost{}, gpu.View{Buffer: y, Offset: i * apart, Size: 4})
	}
	require.NoError(t, dev.Submit(context.Background(), b))
	for i, v := range words(t, dev, y) {
		want := uint32(0)
		if i%(apart/4) == 0 {
			want = 1
		}
		if v != want { // require would take seconds
			t.Fatalf("word %d was counted %d times", i, v)
		}
	}
	require.Equal(t, n, dev.Stats().BindGroups)
}

// When a buffer is freed, its bind groups also leave the other buffers that they use,
// such as weights.
func TestFreedBindGroupsAreForgotten(t *testing.T) {
	dev := gputest.Open(t)
	stays := &gpu.Buffer{Label: "stays", Size: 4}
	require.NoError(t, dev.Alloc(stays))
	source := strings.NewReplacer("@compute", "@group(0) @binding(2) var<storage, read> x: array<u32>;\n@compute", "v & 0u", "v & x[0]").Replace(count)
	p := &gpu.Program{Label: "two", Source: source, Storage: []gpu.Access{gpu.ReadWrite, gpu.Read}}
	for range 3 {
		goes := &gpu.Buffer{Label: "goes", Size: 16<<20 + 4} // more than the pool keeps
		require.NoError(t, dev.Alloc(goes))
		b := &gpu.Batch{Label: "two"}
		b.Dispatch("two", p, [3]uint32{1, 1, 1}, countParams{}, gpu.Cost{}, goes.All(), stays.All())
		require.NoError(t, dev.Submit(context.Background(), b))
		groups, uses := gpu.Uses(dev)
		require.Equal(t, [2]int{1, 2}, [2]int{groups, uses})
		dev.Free(goes)
		groups, uses = gpu.Uses(dev)
		require.Equal(t, [2]int{}, [2]int{groups, uses})
	}
}

// Programs with equal texts have one pipeline, and a device remembers few of them.
func TestManyPrograms(t *testing.T) {
	dev := gputest.Open(t)
	y := &gpu.Buffer{Label: "y", Size: 4}
	require.NoError(t, dev.Alloc(y))
	const n = 2*gpu.MaxPrograms + 5
	for range n {
		b := &gpu.Batch{Label: "count"}
		b.Dispatch("count", counter(count), [3]uint32{1, 1, 1}, countParams{}, gpu.Cost{}, y.All())
		require.NoError(t, dev.Submit(context.Background(), b))
	}
	require.EqualValues(t, n, words(t, dev, y)[0])
	require.Equal(t, 1, dev.Stats().Pipelines)
	require.LessOrEqual(t, gpu.Programs(dev), gpu.MaxPrograms+1)
}

// made returns the numbers of pipelines, bind groups and buffers.
func made(s gpu.Stats) [3]int { return [3]int{s.Pipelines, s.BindGroups, s.Buffers} }

func TestCancelStopsSoon(t *testing.T) {
	dev := gputest.Open(t)
	y := &gpu.Buffer{Label: "y", Size: 4 * 6000}
	require.NoError(t, dev.Alloc(y))
	b := &gpu.Batch{Label: "endless"}
	for range 10000 {
		b.Dispatch("count", counter(count), [3]uint32{1000, 3, 2}, countParams{Rounds: 20000}, gpu.Cost{FLOPs: 1e9}, y.All())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, dev.Submit(ctx, b), context.DeadlineExceeded)
	// The device still works, and no work is pending.
	before := words(t, dev, y)[0]
	require.Equal(t, before, words(t, dev, y)[0], "runs counted, and again")
	require.Less(t, before, uint32(10000))
}

// Cancelled submissions leave no slots in use: a uniform buffer has room for 1024
// dispatches.
func TestCancelledLeavesNothing(t *testing.T) {
	dev := gputest.Open(t)
	y := &gpu.Buffer{Label: "y", Size: 64}
	require.NoError(t, dev.Alloc(y))
	b := &gpu.Batch{Label: "few"}
	for range 100 {
		b.Dispatch("count", counter(count), [3]uint32{1, 1, 1}, countParams{}, gpu.Cost{}, y.All())
	}
	require.NoError(t, dev.Submit(context.Background(), b)) // the first run of a pipeline is a separate piece
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 12 {
		require.ErrorIs(t, dev.Submit(ctx, b), context.Canceled)
	}
	require.NoError(t, dev.Submit(context.Background(), b))
	require.EqualValues(t, 200, words(t, dev, y)[0])
}

func TestErrorsNameWhatAndHowMuch(t *testing.T) {
	dev := gputest.Open(t)
	huge := &gpu.Buffer{Label: "huge", Size: dev.Limits().MaxBuffer&^3 + 4}
	err := dev.Alloc(huge)
	require.ErrorIs(t, err, gpu.ErrTooLarge)
	require.ErrorContains(t, err, `"huge"`)

	wide := &gpu.Buffer{Label: "wide", Size: dev.Limits().MaxBinding&^255 + 256}
	if wide.Size <= dev.Limits().MaxBuffer {
		require.NoError(t, dev.Alloc(wide))
		b := &gpu.Batch{Label: "wide"}
		b.Dispatch("layer", counter(count), [3]uint32{1, 1, 1}, countParams{}, gpu.Cost{}, wide.All())
		err = dev.Submit(context.Background(), b)
		require.ErrorIs(t, err, gpu.ErrTooLarge)
		require.ErrorContains(t, err, `layer: count: binding "wide"`)
		dev.Free(wide)
	}

	b := &gpu.Batch{Label: "broken"}
	y := &gpu.Buffer{Label: "y", Size: 64}
	require.NoError(t, dev.Alloc(y))
	b.Dispatch("layer", counter(strings.Replace(count, "var v = 1u", "var v = nonsense", 1)), [3]uint32{1, 1, 1}, countParams{}, gpu.Cost{}, y.All())
	err = dev.Submit(context.Background(), b)
	require.ErrorContains(t, err, "nonsense", "message or source")
	require.ErrorContains(t, err, "9:", "line")
	require.NoError(t, dev.Submit(context.Background(), &gpu.Batch{Label: "empty"}), "after an error")
}

// Memory beyond the pool's limit is released; new memory is zeroed.
func TestLargeBuffersAreNotKept(t *testing.T) {
	dev := gputest.Open(t)
	y := &gpu.Buffer{Label: "y", Size: 17 << 20}
	b := &gpu.Batch{Label: "large"}
	b.Dispatch("count", counter(count), [3]uint32{8, 1, 1}, countParams{}, gpu.Cost{}, gpu.View{Buffer: y, Size: 4096})
	for i := range 3 {
		require.NoError(t, dev.Alloc(y))
		require.NoError(t, dev.Submit(context.Background(), b))
		require.EqualValues(t, 1, words(t, dev, y)[0], "runs counted in new memory")
		require.Equal(t, i+1, dev.Stats().Buffers, "buffers made")
		dev.Free(y)
	}
}

// Pooled memory does not add to the peak of a job that cannot use it.
func TestKeptMemoryGivesWay(t *testing.T) {
	dev := gputest.Open(t)
	a, b := &gpu.Buffer{Label: "a", Size: 8 << 20}, &gpu.Buffer{Label: "b", Size: 4 << 20}
	require.NoError(t, dev.Alloc(a, b))
	dev.Free(a, b)
	dev.ResetPeaks()
	c, d := &gpu.Buffer{Label: "c", Size: 4 << 20}, &gpu.Buffer{Label: "d", Size: 6 << 20}
	require.NoError(t, dev.Alloc(c, d))
	// While c is taken from it, the pool still holds a.
	require.LessOrEqual(t, dev.Stats().PeakBytes, int64(12<<20))
	require.Equal(t, 3, dev.Stats().Buffers)
}

// A clear zeroes exactly its range, in order with the copies around it.
func TestClear(t *testing.T) {
	dev := gputest.Open(t)
	x, y := &gpu.Buffer{Label: "x", Size: 32}, &gpu.Buffer{Label: "y", Size: 32}
	require.NoError(t, dev.Alloc(x, y))
	require.NoError(t, dev.Write(x.All(), []byte("0123456789abcdefghijklmnopqrstuv")))
	b := &gpu.Batch{Label: "clear"}
	b.Copy("before", y.All(), x.All())
	b.Clear("middle", gpu.View{Buffer: y, Offset: 8, Size: 12})
	b.Copy("after", gpu.View{Buffer: x, Size: 12}, gpu.View{Buffer: y, Size: 12})
	require.NoError(t, dev.Submit(context.Background(), b))
	for buffer, want := range map[*gpu.Buffer]string{
		x: "01234567\x00\x00\x00\x00cdefghijklmnopqrstuv",
		y: "01234567\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00klmnopqrstuv",
	} {
		got := make([]byte, 32)
		require.NoError(t, dev.Read(context.Background(), got, buffer.All()))
		require.Equal(t, want, string(got), buffer.Label)
	}
}
