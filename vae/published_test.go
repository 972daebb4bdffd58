package vae

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu"
	"tessera/gpu/gputest"
)

// The published size loads and decodes with little host memory beyond the map of its
// file: a checkpoint is never completely in memory.
func TestPublishedSizeInLittleMemory(t *testing.T) {
	path := fullCheckpoint(t)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 501324814, info.Size(), "bytes of the checkpoint, as of the published one")
	dev := gputest.Open(t)
	if anonymous(t) == 0 {
		t.Skip("no /proc/self/status to read memory from")
	}
	m := open(t, dev, path, F32)
	s := m.Summary()
	require.Equal(t, 250, s.Tensors)
	require.EqualValues(t, 250648227, s.Parameters)
	require.Equal(t, map[string]int{"F16": 250}, s.DTypes)
	little(t, dev, func() {
		z := Latent{Channels: 16, Frames: 1, Height: 2, Width: 2, Data: make([]float32, 16*4)}
		require.Len(t, decodeAll(t, m, z, DecodeOptions{}), 3*16*16)
	})
}

// little checks that work uses at most 300 MiB of host memory.
func little(t *testing.T, dev *gpu.Device, work func()) {
	t.Helper()
	before := anonymous(t)
	var peak atomic.Int64
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				peak.Store(max(peak.Load(), anonymous(t)))
			}
		}
	}()
	work()
	close(done)
	// On a processor the device's buffers are host memory too.
	device := dev.Stats().PeakBytes
	host := peak.Load() - before
	if dev.Info().Type == "cpu" {
		host -= device
	}
	t.Logf("host %s, device %s", engine.Bytes(host), engine.Bytes(device))
	require.LessOrEqual(t, host, int64(300<<20), "host memory grew by %s", engine.Bytes(host))
}

// anonymous returns the process's memory that no file backs, in bytes.
func anonymous(t *testing.T) int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	var sum int64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, v, _ := strings.Cut(lines.Text(), ":")
		if key != "RssAnon" && key != "RssShmem" {
			continue
		}
		n, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
		assert.NoError(t, err) // not in the test's goroutine
		sum += n << 10
	}
	return sum
}
