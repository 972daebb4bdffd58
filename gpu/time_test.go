package gpu_test

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// churn steps every word through a random number generator. Its time is proportional to
// rounds, and its result is predictable.
const churn = `
struct Params { first: vec4<u32>, rounds: u32, }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>) {
    let i = workgroup.x + params.first.x;
    var v = y[i];
    for (var r = 0u; r < params.rounds; r++) { v = (v ^ (v >> 7u)) * 1664525u + 1013904223u; }
    y[i] = v;
}`

// churned returns the result of churn for v.
func churned(v uint32, rounds int) uint32 {
	for range rounds {
		v = (v^v>>7)*1664525 + 1013904223
	}
	return v
}

const (
	churners = 64
	light    = 5_000
	heavy    = 400_000
)

// timeBatch returns a batch of a light dispatch, a heavy one that the device cuts
// because of its cost, a copy and a clear.
func timeBatch(light, heavy uint32, y, z *gpu.Buffer) *gpu.Batch {
	p := &gpu.Program{Label: "churn", Source: churn, Storage: []gpu.Access{gpu.ReadWrite}}
	b := &gpu.Batch{Label: "time"}
	for _, rounds := range []uint32{light, heavy} {
		cost := gpu.Cost{FLOPs: 4 * churners * int64(rounds)}
		b.Dispatch("churn", p, [3]uint32{churners, 1, 1}, countParams{Rounds: rounds}, cost, y.All())
	}
	b.Copy("copy", z.All(), y.All())
	b.Clear("clear", gpu.View{Buffer: z, Size: 16})
	return b
}

// longAndShort returns a batch that takes seconds and one of a moment.
func longAndShort(t *testing.T, dev *gpu.Device) (long, short *gpu.Batch) {
	t.Helper()
	y, z := &gpu.Buffer{Label: "y", Size: 4 * churners}, &gpu.Buffer{Label: "z", Size: 4 * churners}
	require.NoError(t, dev.Alloc(y, z))
	long = &gpu.Batch{Label: "long"}
	for range 2000 {
		long.Commands = append(long.Commands, timeBatch(light, heavy, y, z).Commands[1])
	}
	return long, timeBatch(light, light, y, z)
}

// A device's times distinguish a heavy command from a light one and add up to at most
// the elapsed time; the batch runs once, in order.
func TestTime(t *testing.T) {
	dev := gputest.Open(t)
	y, z := &gpu.Buffer{Label: "y", Size: 4 * churners}, &gpu.Buffer{Label: "z", Size: 4 * churners}
	require.NoError(t, dev.Alloc(y, z))
	b := timeBatch(light, heavy, y, z)
	start, best := uint32(0), make([]time.Duration, len(b.Commands)) // of the runs, because other programs sometimes take the processor
	var total time.Duration
	for i := range 3 {
		before, began := dev.Stats(), time.Now()
		took, err := dev.Time(context.Background(), b)
		require.NoError(t, err)
		t.Logf("%+v in %d submissions", took, dev.Stats().Submissions-before.Submissions)
		require.LessOrEqual(t, took.Total, time.Since(began))
		require.Equal(t, dev.Info().Timestamps, took.Queried, "an adapter with timestamps measures by them")
		if !took.Queried {
			require.Nil(t, took.Commands)
			continue
		}
		require.Len(t, took.Commands, len(b.Commands))
		var sum time.Duration
		for j, c := range took.Commands {
			require.GreaterOrEqual(t, c, time.Duration(0), "command %d", j)
			sum += c
			if i == 0 || c < best[j] {
				best[j] = c
			}
		}
		require.LessOrEqual(t, sum, took.Total+took.Total/10)
		if i == 0 || took.Total < total {
			total = took.Total
		}
		if i == 0 { // a fast device takes all at once later
			require.Greater(t, dev.Stats().Submissions-before.Submissions, 1, "the batch was not cut")
		}
		start = churned(churned(start, light), heavy)
	}
	left := words(t, dev, y)
	want := make([]uint32, churners)
	for i := range want {
		want[i] = start
	}
	require.Equal(t, want, left, "the batch did not run once each time, in order")
	for i := range 4 {
		want[i] = 0
	}
	require.Equal(t, want, words(t, dev, z), "the copy and the clear")

	if !dev.Info().Timestamps {
		t.Skip("the adapter has no timestamps")
	}
	require.Greater(t, best[1], 8*best[0], "80 times the work")
	require.Greater(t, best[1], total/2, "most of the batch's time")
	require.Less(t, best[2]+best[3], best[1]/2, "a copy and a clear of 256 bytes")
}

// Copies alone can be timed, even more than a query set holds.
func TestTimeManyCopies(t *testing.T) {
	dev := gputest.Open(t)
	x, y := &gpu.Buffer{Label: "x", Size: 1 << 20}, &gpu.Buffer{Label: "y", Size: 1 << 20}
	require.NoError(t, dev.Alloc(x, y))
	data := binary.LittleEndian.AppendUint32(make([]byte, 1<<20-4), 12345)
	require.NoError(t, dev.Write(x.All(), data))
	b := &gpu.Batch{Label: "copies"}
	for range 2500 {
		b.Copy("copy", gpu.View{Buffer: y, Size: 64}, gpu.View{Buffer: x, Size: 64})
	}
	b.Copy("large", y.All(), x.All())
	took, err := dev.Time(context.Background(), b)
	require.NoError(t, err)
	require.Equal(t, uint32(12345), words(t, dev, y)[1<<18-1])
	require.Equal(t, 2, dev.Stats().Submissions)
	if took.Queried {
		require.Len(t, took.Commands, 2501)
	}
}

// An empty batch takes no time and no submission.
func TestTimeOfNothing(t *testing.T) {
	dev := gputest.Open(t)
	took, err := dev.Time(context.Background(), &gpu.Batch{Label: "empty"})
	require.NoError(t, err)
	require.Empty(t, took.Commands)
	require.Zero(t, dev.Stats().Submissions)
}

// A cancelled measurement ends soon, and the device can measure again.
func TestTimeCancelled(t *testing.T) {
	dev := gputest.Open(t)
	long, short := longAndShort(t, dev)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	took, err := dev.Time(ctx, long)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, took)

	for try := 0; ; try++ {
		took, err = dev.Time(context.Background(), short)
		require.NoError(t, err)
		if took.Queried == dev.Info().Timestamps {
			break
		}
		// On a busy machine the gap between two commands may be so long that the
		// device's clock is not plausible.
		require.Less(t, try, 20, "the adapter has timestamps: %t; the device timed the commands: %t", dev.Info().Timestamps, took.Queried)
	}

	_, err = dev.Time(ctx, short)
	require.ErrorIs(t, err, context.DeadlineExceeded, "a context that ended before")
}
