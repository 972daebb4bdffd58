package machine

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/vae"
)

// The queue passes unchanged frames, in order, while the taker has an earlier one; a
// third frame waits. A frame that is too large for the queue is passed at once.
func TestFramesAreHandedOver(t *testing.T) {
	begun, go1 := make(chan int), make(chan bool)
	var taken [][]byte
	h := queueFrames(TakerFunc(func(f vae.Frame) error {
		begun <- f.Index
		<-go1
		taken = append(taken, append([]byte(nil), f.RGBA...))
		require.Nil(t, f.Pixels)
		return nil
	}))
	px := []byte{0}
	for i := range 2 {
		px[0] = byte(i)
		require.NoError(t, h.take(vae.Frame{Index: i, RGBA: px}))
	}
	require.Equal(t, 0, <-begun, "none of the two was taken to its end")
	third := make(chan error)
	go func() {
		third <- h.take(vae.Frame{Index: 2, RGBA: []byte{2}})
	}()
	go1 <- true
	require.Equal(t, 1, <-begun)
	require.NoError(t, <-third)
	go1 <- true
	require.Equal(t, 2, <-begun)
	go1 <- true
	require.NoError(t, h.end())
	require.Equal(t, [][]byte{{0}, {1}, {2}}, taken)

	at := 0
	h = queueFrames(TakerFunc(func(f vae.Frame) error { at = f.Index; return nil }))
	require.NoError(t, h.take(vae.Frame{Index: 7, RGBA: make([]byte, mostQueued+1)}))
	require.Equal(t, 7, at)
	require.NoError(t, h.end())
}

// An error of the taker ends the queue, however many frames follow.
func TestHandingOverFails(t *testing.T) {
	full := errors.New("disk full")
	n := 0
	h := queueFrames(TakerFunc(func(vae.Frame) error {
		if n++; n == 2 {
			return full
		}
		return nil
	}))
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		err = h.take(vae.Frame{Index: i, Pixels: []float32{1}})
	}
	require.Equal(t, full, err)
	require.Equal(t, full, h.end())
	require.Equal(t, 2, n, "what came after the failure was taken")
}
