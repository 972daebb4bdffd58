// Package gputest runs compute programs in tests and compares their output with a
// reference. It handles arrays of numbers; package wgsl's tests know the operations.
//
// Open opens a device for a test. Case describes one run of an operation with its
// inputs and expected output, and Case.Run runs and checks it:
//
//	dev := gputest.Open(t)
//	c := gputest.Case{Op: "add", In: inputs, Out: output, Record: record, Want: want, Bound: 1e-12}
//	c.Run(t, dev)
//
// Benchmark times a batch, and Compare compares two lists of numbers.
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

// Open opens the best adapter for a test and closes it when the test ends. Without one
// the test skips or fails, as package testenv describes. TESSERA_BACKEND restricts the
// choice to one backend. With TESSERA_STATS=FILE, Open appends the device's Stats to
// FILE at the end.
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

// appendStats appends a line for each program, "compile SECONDS LABEL", and one for
// each of the longest submissions, "piece SECONDS" and "first SECONDS".
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
