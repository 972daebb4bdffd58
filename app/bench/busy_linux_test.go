package bench

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// With more threads than processors, some wait.
func TestTurns(t *testing.T) {
	n := 4 * runtime.NumCPU()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	var told turns
	require.NoError(t, told.during(func() error {
		var all sync.WaitGroup
		end := time.Now().Add(200 * time.Millisecond)
		for range n {
			all.Go(func() {
				for time.Now().Before(end) { // computes
				}
			})
		}
		all.Wait()
		return nil
	}))
	require.Positive(t, told.ran)
	require.Greater(t, told.waited, told.ran/2)
}
