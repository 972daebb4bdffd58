package interrupt

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// A read that never returns does not delay the end of the program.
func TestReadingEndsWithTheProgram(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	begun, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	go func() {
		<-begun
		stop()
	}()
	_, err := Await(ctx, func() (int, error) {
		close(begun)
		<-never
		return 0, nil
	})
	require.ErrorIs(t, err, context.Canceled)
	n, err := Await(t.Context(), func() (int, error) { return 7, errors.New("its own") })
	require.EqualError(t, err, "its own")
	require.Equal(t, 7, n)
}
