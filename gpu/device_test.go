package gpu_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

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
	if err := dev.Read(context.Background(), raw, b.All()); err != nil {
		t.Fatal(err)
	}
	v := make([]uint32, len(raw)/4)
	for i := range v {
		v[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return v
}

// A dispatch that is far too long for one submission, and wider than the grid
// a device takes, runs every group exactly once.
func TestLongDispatchIsCut(t *testing.T) {
	dev := gputest.Open(t)
	width := uint32(70000)
	y := &gpu.Buffer{Label: "y", Size: int64(4 * width * 3 * 2)}
	if err := dev.Alloc(y); err != nil {
		t.Fatal(err)
	}
	b := &gpu.Batch{Label: "long"}
	b.Dispatch("count", counter(count), [3]uint32{width, 3, 2}, countParams{Rounds: 500}, gpu.Cost{FLOPs: 40e9}, y.All())
	if err := dev.Submit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	for i, v := range words(t, dev, y) {
		if v != 1 {
			t.Fatalf("group %d ran %d times", i, v)
		}
	}
	s := dev.Stats()
	if s.Submissions < 3 {
		t.Errorf("%d submissions for 40 s of work at the first guess", s.Submissions)
	}
	t.Logf("%d submissions, longest %v", s.Submissions, s.Longest)
}

// A batch submitted again makes no pipeline, bind group or buffer.
func TestReplayMakesNothing(t *testing.T) {
	dev := gputest.Open(t)
	x, y := &gpu.Buffer{Label: "x", Size: 4096}, &gpu.Buffer{Label: "y", Size: 4096}
	if err := dev.Alloc(x, y); err != nil {
		t.Fatal(err)
	}
	b := &gpu.Batch{Label: "replay"}
	for range 3 { // three Program values of one content
		b.Dispatch("x", counter(count), [3]uint32{8, 1, 1}, countParams{}, gpu.Cost{}, x.All())
		b.Dispatch("y", counter(count), [3]uint32{8, 1, 1}, countParams{}, gpu.Cost{}, y.All())
		b.Copy("copy", gpu.View{Buffer: y, Offset: 256, Size: 256}, gpu.View{Buffer: x, Size: 256})
	}
	run := func() gpu.Stats {
		if err := dev.Submit(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		return dev.Stats()
	}
	first := run()
	if first.Pipelines != 1 || first.BindGroups != 2 || first.Buffers != 2 {
		t.Errorf("first run made %d pipelines, %d bind groups, %d buffers, want 1, 2, 2", first.Pipelines, first.BindGroups, first.Buffers)
	}
	var last gpu.Stats
	for range 5 {
		last = run()
	}
	if last.Pipelines != first.Pipelines || last.BindGroups != first.BindGroups || last.Buffers != first.Buffers {
		t.Errorf("replays made pipelines, bind groups or buffers: %+v after %+v", last, first)
	}
	if got := words(t, dev, x)[7]; got != 18 {
		t.Errorf("counted %d, want 18", got)
	}
	dev.Free(x)
	if err := dev.Alloc(x); err != nil {
		t.Fatal(err)
	}
	if again := run(); again.Buffers != first.Buffers || again.BindGroups != first.BindGroups {
		t.Errorf("freed memory was not used again: %+v after %+v", again, first)
	}
	if got := words(t, dev, x)[0]; got != 3 {
		t.Errorf("counted %d in new memory, want 3", got)
	}
}

func TestCancelStopsSoon(t *testing.T) {
	dev := gputest.Open(t)
	y := &gpu.Buffer{Label: "y", Size: 4 * 6000}
	if err := dev.Alloc(y); err != nil {
		t.Fatal(err)
	}
	b := &gpu.Batch{Label: "endless"}
	for range 10000 {
		b.Dispatch("count", counter(count), [3]uint32{1000, 3, 2}, countParams{Rounds: 20000}, gpu.Cost{FLOPs: 1e9}, y.All())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	err := dev.Submit(ctx, b)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	// The device still works, and nothing is on its way any more.
	before := words(t, dev, y)[0]
	if after := words(t, dev, y)[0]; after != before || before >= 10000 {
		t.Errorf("counted %d, then %d", before, after)
	}
}

func TestErrorsNameWhatAndHowMuch(t *testing.T) {
	dev := gputest.Open(t)
	huge := &gpu.Buffer{Label: "huge", Size: dev.Limits().MaxBuffer&^3 + 4}
	err := dev.Alloc(huge)
	if !errors.Is(err, gpu.ErrTooLarge) || !strings.Contains(err.Error(), `"huge"`) {
		t.Errorf("alloc: %v", err)
	}

	wide := &gpu.Buffer{Label: "wide", Size: dev.Limits().MaxBinding&^255 + 256}
	if wide.Size <= dev.Limits().MaxBuffer {
		if err := dev.Alloc(wide); err != nil {
			t.Fatal(err)
		}
		b := &gpu.Batch{Label: "wide"}
		b.Dispatch("layer", counter(count), [3]uint32{1, 1, 1}, countParams{}, gpu.Cost{}, wide.All())
		err = dev.Submit(context.Background(), b)
		if !errors.Is(err, gpu.ErrTooLarge) || !strings.Contains(err.Error(), `layer: count: binding "wide"`) {
			t.Errorf("submit: %v", err)
		}
		dev.Free(wide)
	}

	b := &gpu.Batch{Label: "broken"}
	y := &gpu.Buffer{Label: "y", Size: 64}
	if err := dev.Alloc(y); err != nil {
		t.Fatal(err)
	}
	b.Dispatch("layer", counter(strings.Replace(count, "var v = 1u", "var v = nonsense", 1)), [3]uint32{1, 1, 1}, countParams{}, gpu.Cost{}, y.All())
	err = dev.Submit(context.Background(), b)
	if err == nil || !strings.Contains(err.Error(), "nonsense") || !strings.Contains(err.Error(), "9:") {
		t.Errorf("shader error without message, line or source: %v", err)
	}
	if err := dev.Submit(context.Background(), &gpu.Batch{Label: "empty"}); err != nil {
		t.Errorf("after an error: %v", err)
	}
}

// Memory beyond what the pool keeps goes back, and comes new and zeroed.
func TestLargeBuffersAreNotKept(t *testing.T) {
	dev := gputest.Open(t)
	y := &gpu.Buffer{Label: "y", Size: 17 << 20}
	b := &gpu.Batch{Label: "large"}
	b.Dispatch("count", counter(count), [3]uint32{8, 1, 1}, countParams{}, gpu.Cost{}, gpu.View{Buffer: y, Size: 4096})
	for i := range 3 {
		if err := dev.Alloc(y); err != nil {
			t.Fatal(err)
		}
		if err := dev.Submit(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		if got := words(t, dev, y)[0]; got != 1 {
			t.Errorf("counted %d in new memory, want 1", got)
		}
		if made := dev.Stats().Buffers; made != i+1 {
			t.Errorf("%d buffers made after %d allocations", made, i+1)
		}
		dev.Free(y)
	}
}

// Kept memory does not add to what a job that can't use it needs.
func TestKeptMemoryGivesWay(t *testing.T) {
	dev := gputest.Open(t)
	a, b := &gpu.Buffer{Label: "a", Size: 8 << 20}, &gpu.Buffer{Label: "b", Size: 4 << 20}
	if err := dev.Alloc(a, b); err != nil {
		t.Fatal(err)
	}
	dev.Free(a, b)
	dev.ResetPeaks()
	c, d := &gpu.Buffer{Label: "c", Size: 4 << 20}, &gpu.Buffer{Label: "d", Size: 6 << 20}
	if err := dev.Alloc(c, d); err != nil {
		t.Fatal(err)
	}
	// While c is taken from it, the pool still holds a.
	if s := dev.Stats(); s.PeakBytes > 12<<20 || s.Buffers != 3 {
		t.Errorf("peak of %d bytes, %d buffers made", s.PeakBytes, s.Buffers)
	}
}

// A clear zeroes its range, in order with the copies around it, and no more.
func TestClear(t *testing.T) {
	dev := gputest.Open(t)
	x, y := &gpu.Buffer{Label: "x", Size: 32}, &gpu.Buffer{Label: "y", Size: 32}
	if err := dev.Alloc(x, y); err != nil {
		t.Fatal(err)
	}
	if err := dev.Write(x.All(), []byte("0123456789abcdefghijklmnopqrstuv")); err != nil {
		t.Fatal(err)
	}
	b := &gpu.Batch{Label: "clear"}
	b.Copy("before", y.All(), x.All())
	b.Clear("middle", gpu.View{Buffer: y, Offset: 8, Size: 12})
	b.Copy("after", gpu.View{Buffer: x, Size: 12}, gpu.View{Buffer: y, Size: 12})
	if err := dev.Submit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	for buffer, want := range map[*gpu.Buffer]string{
		x: "01234567\x00\x00\x00\x00cdefghijklmnopqrstuv",
		y: "01234567\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00klmnopqrstuv",
	} {
		got := make([]byte, 32)
		if err := dev.Read(context.Background(), got, buffer.All()); err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is %q, want %q", buffer.Label, got, want)
		}
	}
}
