// Package gputest runs compute programs in tests and compares what they write
// with a reference. It knows arrays of numbers, not operations. Start at Open
// and Case.Run.
package gputest

import (
	"errors"
	"os"
	"testing"

	"tessera/gpu"
)

// Open opens the best adapter for a test and closes it at its end. Without one
// the test is skipped with the reason, or fails where the environment has
// GPU=require. Which Vulkan driver there is, VK_DRIVER_FILES says.
func Open(t testing.TB) *gpu.Device {
	t.Helper()
	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	if errors.Is(err, gpu.ErrNoLibrary) || errors.Is(err, gpu.ErrNoAdapter) {
		if os.Getenv("GPU") != "require" {
			t.Skipf("no device: %v", err)
		}
	}
	if err != nil {
		t.Fatalf("gputest: %v", err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Errorf("gputest: close: %v", err)
		}
	})
	return dev
}
