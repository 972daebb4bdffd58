// Package gputest runs compute programs in tests and compares what they write
// with a reference. It knows arrays of numbers, not operations. Start at Open
// and Case.Run.
package gputest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/tests/testenv"
)

// Open opens the best adapter for a test and closes it at its end. Without one the
// test skips or fails, as package testenv describes.
// TESSERA_BACKEND takes only one backend's adapters. With TESSERA_STATS=FILE
// what Stats says at the end is appended there.
func Open(t testing.TB) *gpu.Device {
	t.Helper()
	testenv.Device(t)
	dev, err := gpu.Open(gpu.Options{Adapter: -1, Backend: os.Getenv("TESSERA_BACKEND"), NoCache: true})
	if errors.Is(err, gpu.ErrNoLibrary) || errors.Is(err, gpu.ErrNoAdapter) {
		testenv.Missing(t, "no device: %v", err)
	}
	require.NoError(t, err, "gputest: open")
	t.Cleanup(func() {
		if file := os.Getenv("TESSERA_STATS"); file != "" {
			assert.NoError(t, appendStats(file, dev.Stats()), "gputest: TESSERA_STATS")
		}
		assert.NoError(t, dev.Close(), "gputest: close")
	})
	return dev
}

// appendStats writes a line for each program, "compile SECONDS LABEL", and for
// the longest submissions, "piece SECONDS" and "first SECONDS".
func appendStats(file string, s gpu.Stats) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	for label, use := range s.Programs {
		fmt.Fprintf(f, "compile %.3f %s\n", use.Compile.Seconds(), label)
	}
	fmt.Fprintf(f, "piece %.3f\nfirst %.3f\n", s.Longest.Seconds(), s.LongestFirst.Seconds())
	return f.Close()
}
