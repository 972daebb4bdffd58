package gpu_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// A profile has every submitted command, in order, with its whole cost. If the device
// has timestamps, the times follow each other within the wall time, and the heavy
// command has the largest. Afterwards the device works on without the profile.
func TestProfile(t *testing.T) {
	dev, ctx := gputest.Open(t), context.Background()
	y, z := &gpu.Buffer{Label: "y", Size: 4 * churners}, &gpu.Buffer{Label: "z", Size: 4 * churners}
	require.NoError(t, dev.Alloc(y, z))
	b := timeBatch(light, heavy, y, z)
	require.NoError(t, dev.Submit(ctx, b)) // some drivers compile at the first dispatch

	before, began := dev.Stats(), time.Now()
	p, err := dev.Profile(ctx)
	require.NoError(t, err)
	require.NoError(t, dev.Submit(ctx, b))
	require.NoError(t, p.End(ctx))
	require.LessOrEqual(t, p.Wall, time.Since(began))
	require.Equal(t, dev.Info().Timestamps, p.Queried, "an adapter with timestamps measures by them")
	require.Len(t, p.Pieces, dev.Stats().Submissions-before.Submissions)
	took, flops := map[*gpu.Command]time.Duration{}, map[*gpu.Command]int64{}
	var order []*gpu.Command
	var last, sent time.Duration
	for _, piece := range p.Pieces {
		assert.Equal(t, "time", piece.Label)
		assert.GreaterOrEqual(t, piece.Begin, sent)
		assert.GreaterOrEqual(t, piece.End, piece.Begin) // equal within a step of a coarse clock such as Windows'
		assert.LessOrEqual(t, piece.End, p.Wall)
		sent = piece.Begin
		for _, r := range piece.Commands {
			if len(order) == 0 || order[len(order)-1] != r.Command {
				order = append(order, r.Command)
			}
			took[r.Command] += r.Time()
			flops[r.Command] += r.Cost.FLOPs
			if p.Queried {
				assert.GreaterOrEqual(t, r.Begin, piece.Begin, "before it was sent")
				assert.GreaterOrEqual(t, r.Begin, last, "overlaps")
				last = r.End
			}
		}
	}
	require.Equal(t, []*gpu.Command{&b.Commands[0], &b.Commands[1], &b.Commands[2], &b.Commands[3]}, order)
	for i := range b.Commands {
		c := &b.Commands[i]
		assert.InDelta(t, c.Cost.FLOPs, flops[c], 1+float64(c.Cost.FLOPs)/1e3, c.Label)
	}
	require.Greater(t, p.Pieces[len(p.Pieces)-1].End, p.Pieces[0].Begin)
	require.LessOrEqual(t, p.Busy(), p.Wall)
	if p.Queried {
		require.Greater(t, took[&b.Commands[1]], p.Busy()/2, "80 times the work")
	} else {
		require.Zero(t, p.Busy())
	}

	pieces := len(p.Pieces)
	require.NoError(t, dev.Submit(ctx, b))
	require.NoError(t, dev.Wait(ctx))
	require.NoError(t, p.End(ctx), "twice")
	require.Len(t, p.Pieces, pieces, "nothing of what came after")
}

// A cancelled profile ends, and the next one is complete.
func TestProfileCancelled(t *testing.T) {
	dev := gputest.Open(t)
	long, short := longAndShort(t, dev)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	p, err := dev.Profile(ctx)
	require.NoError(t, err)
	require.ErrorIs(t, dev.Submit(ctx, long), context.DeadlineExceeded)
	require.NoError(t, p.End(context.Background()))

	p, err = dev.Profile(context.Background())
	require.NoError(t, err)
	require.NoError(t, dev.Submit(context.Background(), short))
	require.NoError(t, p.End(context.Background()))
	require.NotEmpty(t, p.Pieces)
	require.Equal(t, dev.Info().Timestamps, p.Queried)
}
