package gpu_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// read returns the first word of a readback buffer.
func read(t *testing.T, dev *gpu.Device, b *gpu.Buffer) uint32 {
	t.Helper()
	raw := make([]byte, 4)
	require.NoError(t, dev.Read(context.Background(), raw, gpu.View{Buffer: b, Size: 4}))
	return binary.LittleEndian.Uint32(raw)
}

// A readback buffer is read while the device works on: with WhileWaiting in the middle
// of a submission, once it is ready, and with the content at the time of the copy.
func TestReadback(t *testing.T) {
	dev, ctx := gputest.Open(t), context.Background()
	y, r := &gpu.Buffer{Label: "y", Size: 4 * churners}, &gpu.Buffer{Label: "r", Size: 64, Readback: true}
	require.NoError(t, dev.Alloc(y, r))
	one := timeBatch(light, heavy/6, y, &gpu.Buffer{Label: "z", Size: y.Size}).Commands[1]
	long := &gpu.Batch{Label: "long", Commands: []gpu.Command{one, one, one, one}}
	copied := &gpu.Batch{Label: "out"}
	copied.Copy("out", r.All(), gpu.View{Buffer: y, Size: 64})
	require.NoError(t, dev.Submit(ctx, long)) // the first run of a pipeline is a separate piece
	require.NoError(t, dev.Write(y.All(), make([]byte, y.Size)))
	require.NoError(t, dev.Submit(ctx, copied))
	before, asked := dev.Stats().Submissions, 0
	var got []uint32
	dev.WhileWaiting(func() error {
		if asked++; len(got) == 0 && dev.Ready(r) {
			got = append(got, read(t, dev, r))
			require.Greater(t, dev.Stats().Submissions, before, "nothing was submitted after the copy")
		}
		return nil
	})
	for i := 0; i < 100 && len(got) == 0; i++ { // a fast card has time for a few
		require.NoError(t, dev.Submit(ctx, long))
	}
	require.Equal(t, []uint32{0}, got, "of %d times", asked)
	require.NotZero(t, words(t, dev, y)[0], "what was submitted after the copy did nothing")

	gone := errors.New("gone")
	dev.WhileWaiting(func() error { return gone })
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		err = dev.Submit(ctx, long)
	}
	require.Equal(t, gone, err)
	dev.WhileWaiting(nil)
	require.NoError(t, dev.Submit(ctx, copied))
	require.Equal(t, words(t, dev, y)[0], read(t, dev, r))
}

// A readback buffer that a failed read left half mapped is not used again; others are.
func TestReadbackIsSpoiled(t *testing.T) {
	dev := gputest.Open(t)
	y, r := &gpu.Buffer{Label: "y", Size: 64}, &gpu.Buffer{Label: "r", Size: 64, Readback: true}
	require.NoError(t, dev.Alloc(y, r))
	copied := &gpu.Batch{Label: "out"}
	copied.Copy("out", r.All(), y.All())
	for i, spoil := range []bool{false, true, false} {
		require.NoError(t, dev.Submit(context.Background(), copied))
		require.Zero(t, read(t, dev, r))
		if spoil {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			require.ErrorIs(t, dev.Read(ctx, make([]byte, 4), r.All()), context.Canceled)
		}
		dev.Free(r)
		require.NoError(t, dev.Alloc(r))
		require.Equal(t, []int{2, 3, 3}[i], dev.Stats().Buffers)
	}
}
