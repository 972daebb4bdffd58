package drivertest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
)

// compute runs two dispatches with different dynamic offsets, a copy, and a dispatch
// that reads the copy's result, in one submission.
func compute(t *testing.T, s Subject) {
	d := s.Open(t)
	const n = 1000
	in := make([]uint32, n)
	for i := range in {
		in[i] = uint32(i)
	}
	src := NewBuffer(t, d, Words(in...))
	mid := NewBuffer(t, d, make([]byte, 4*n))
	mid2 := NewBuffer(t, d, make([]byte, 4*n))
	dst := NewBuffer(t, d, make([]byte, 4*n))
	uniform := Must(d.NewBuffer("uniform", 1024, true))(t)
	require.NoError(t, d.Write(uniform, 0, append(make([]byte, 256), Words(7, 0, 0, 0)...)))
	require.NoError(t, d.Write(uniform, 512, Words(9, 512, 0, 0)))
	p := Must(Compile(d, Scale(3)))(t)
	all := func(b driver.Buffer) driver.Binding { return driver.Binding{Buffer: b, Size: 4 * n} }
	first := Must(d.NewBindGroup("first", p, uniform, []driver.Binding{all(src), all(mid)}))(t)
	second := Must(d.NewBindGroup("second", p, uniform, []driver.Binding{all(mid2), all(dst)}))(t)
	commands := []driver.Command{
		{Pipeline: p, Group: first, UniformOffset: 256, Groups: [3]uint32{8, 1, 1}},
		{Pipeline: p, Group: first, UniformOffset: 512, Groups: [3]uint32{8, 1, 1}},
		{Src: driver.Binding{Buffer: mid, Offset: 4, Size: 4*n - 4}, Dst: driver.Binding{Buffer: mid2, Size: 4*n - 4}},
		{Pipeline: p, Group: second, UniformOffset: 0, Groups: [3]uint32{16, 1, 1}},
	}
	want := make([]uint32, n) // the last number was not copied
	for i := range want[:n-1] {
		if j := uint32(i + 1); j < 512 {
			want[i] = (j*3 + 7) * 3
		} else {
			want[i] = (j*3 + 9) * 3
		}
	}
	for range 2 {
		f := Must(d.Submit("test", commands, nil))(t)
		require.NoError(t, d.Wait(context.Background(), f))
		require.NoError(t, d.Wait(context.Background(), f), "second wait")
		require.Equal(t, want, Read(t, d, dst, n))
	}
	for _, r := range []interface{ Release() }{first, second, p, src, mid, dst, uniform} {
		r.Release()
		r.Release()
	}
}

// cancel: a context that ends early ends the wait and the read, and the device stays
// usable.
func cancel(t *testing.T, s Subject) {
	d := s.Open(t)
	b := Must(d.NewBuffer("out", 1024, false))(t)
	// Enough commands for a second on any machine. The second run measures one command,
	// because some drivers compile in the first.
	one := newBusy(t, d, b)
	var took time.Duration
	for range 2 {
		start := time.Now()
		require.NoError(t, d.Wait(context.Background(), Must(d.Submit("busy", []driver.Command{one}, nil))(t)))
		took = time.Since(start)
	}
	busy := make([]driver.Command, 1+time.Second/took)
	for i := range busy {
		busy[i] = one
	}
	f := Must(d.Submit("busy", busy, nil))(t)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Millisecond)
	defer cancel()
	start := time.Now()
	require.ErrorIs(t, d.Wait(ctx, f), context.DeadlineExceeded)
	require.ErrorIs(t, d.Read(ctx, make([]byte, 1024), b, 0), context.DeadlineExceeded)
	stopped := time.Since(start)
	require.NoError(t, d.Wait(context.Background(), f))
	assert.GreaterOrEqual(t, time.Since(start), 2*stopped, "the work and the cancelled waits took times too alike to tell")
	Alive(t, d)
}

// largeTransfers writes and reads more than one chunk each, at odd places.
func largeTransfers(t *testing.T, s Subject) {
	d := s.Open(t)
	size := int64(s.Chunks.Fetch + driver.MostUnsent + 52)
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(data)
	b := Must(d.NewBuffer("large", size+8, false))(t)
	require.NoError(t, d.Write(b, 4, data))
	require.NoError(t, d.Write(b, 4+100, []byte("late")))
	copy(data[100:], "late")
	got := make([]byte, size+8)
	require.NoError(t, d.Read(context.Background(), got, b, 0))
	require.True(t, bytes.Equal(got[4:4+size], data), "read back other bytes than written")
	require.Equal(t, make([]byte, 4), got[:4], "before it")
	require.Equal(t, make([]byte, 4), got[4+size:], "after it")
	part := make([]byte, 64)
	require.NoError(t, d.Read(context.Background(), part, b, size-100))
	require.Equal(t, got[size-100:size-36], part, "a part reads otherwise than the whole")
}

// order: writes, submissions and reads happen in the order of the calls.
func order(t *testing.T, s Subject) {
	d := s.Open(t)
	b, c := NewBuffer(t, d, Words(1)), NewBuffer(t, d, Words(0))
	for i := range uint32(20) {
		require.NoError(t, d.Write(b, 0, Words(i)))
		Must(d.Submit("copy", []driver.Command{{Src: driver.Binding{Buffer: b, Size: 4}, Dst: driver.Binding{Buffer: c, Size: 4}}}, nil))(t)
		require.NoError(t, d.Write(b, 0, Words(99)))
		require.Equal(t, []uint32{i}, Read(t, d, c, 1))
	}
}

// take: a readback buffer returns the bytes at the time of the copy, repeatedly, while
// the device works on later submissions. A context ends it early.
func take(t *testing.T, s Subject) {
	d, ctx := s.Open(t), context.Background()
	b, r := NewBuffer(t, d, Words(1, 2)), Must(d.NewReadback(8))(t)
	copied := driver.Command{Src: driver.Binding{Buffer: b, Size: 8}, Dst: driver.Binding{Buffer: r, Size: 8}}
	work := newBusy(t, d, Must(d.NewBuffer("out", 1024, false))(t))
	require.NoError(t, d.Wait(ctx, Must(d.Submit("compiles", []driver.Command{work}, nil))(t)))
	for i := range uint32(3) {
		require.NoError(t, d.Write(b, 0, Words(i)))
		Must(d.Submit("copy", []driver.Command{copied}, nil))(t)
		require.NoError(t, d.Write(b, 0, Words(99)))
		var f driver.Fence
		if i == 0 {
			f = Must(d.Submit("busy", []driver.Command{work}, nil))(t)
		}
		got, start := make([]byte, 8), time.Now()
		require.NoError(t, d.Take(ctx, got, r))
		took := time.Since(start)
		require.Equal(t, Words(i, 2), got)
		if f != nil {
			require.NoError(t, d.Wait(ctx, f))
			assert.Greater(t, time.Since(start), 3*took/2, "waited for what came after")
		}
	}
	Wants(t, d.Take(ctx, make([]byte, 12), r), nil, "staging: ", "read of 12 bytes")
	Must(d.Submit("copy", []driver.Command{copied}, nil))(t)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, d.Take(ended, make([]byte, 8), r), context.Canceled)
	r.Release()
	r.Release()
	Alive(t, d)
}

// times: a stopwatch's spans follow each other in the commands' order, are long if the
// command is, and cover the elapsed time. The stopwatch can be used again, with another
// beside it, and takes MaxTimed commands.
func times(t *testing.T, s Subject) {
	d := s.Open(t)
	if !d.Info().Timestamps {
		t.Skip("the adapter has no timestamps")
	}
	ctx := context.Background()
	b, c := Must(d.NewBuffer("out", 1024, false))(t), Must(d.NewBuffer("copy", 1024, false))(t)
	whole := func(b driver.Buffer) driver.Binding { return driver.Binding{Buffer: b, Size: 1024} }
	copied, work := driver.Command{Src: whole(b), Dst: whole(c)}, newBusy(t, d, b)
	commands := []driver.Command{{Dst: whole(b)}, work, copied, {Dst: whole(b)}, copied}
	require.NoError(t, d.Wait(ctx, Must(d.Submit("compiles", commands, nil))(t)))

	watch, other := Must(d.NewStopwatch())(t), Must(d.NewStopwatch())(t)
	for range 2 {
		start := time.Now()
		Must(d.Submit("timed", commands, watch))(t)
		Must(d.Submit("timed", commands[:1], other))(t)
		spans := Must(d.Times(ctx, watch))(t)
		later := Must(d.Times(ctx, other))(t)
		passed := time.Since(start)
		t.Logf("%v, then %v", spans, later)
		require.Len(t, spans, len(commands))
		require.Len(t, later, 1)
		last := uint64(1)
		for i, s := range append(spans, later...) {
			require.GreaterOrEqual(t, s.End, s.Begin, "command %d", i)
			require.GreaterOrEqual(t, s.End, last, "command %d ended before the one ahead of it", i)
			last = s.End
		}
		took := func(s driver.Span) time.Duration { return time.Duration(s.End - s.Begin) }
		require.Greater(t, took(spans[1]), passed/3, "of %v", passed)
		require.LessOrEqual(t, time.Duration(spans[4].End-spans[0].Begin), passed+time.Millisecond)
		require.Equal(t, make([]uint32, 256), Read(t, d, c, 256), "the copy after the clear")
	}

	many := make([]driver.Command, driver.MaxTimed)
	for i := range many {
		many[i] = copied
	}
	Must(d.Submit("many", many, watch))(t)
	require.Len(t, Must(d.Times(ctx, watch))(t), driver.MaxTimed)
	Must(d.Submit("none", nil, watch))(t)
	require.Empty(t, Must(d.Times(ctx, watch))(t))
	for range 2 {
		watch.Release()
		other.Release()
	}
	Alive(t, d)
}
