// Package testenv decides what a test does if the machine lacks something, such as a
// device, a browser or ffmpeg. A test calls Device before it opens a device, and
// Missing with the reason if it cannot run:
//
//	testenv.Device(t)
//	dev, err := gpu.Open(options)
//	if errors.Is(err, gpu.ErrNoAdapter) {
//		testenv.Missing(t, "no adapter: %v", err)
//	}
//
// The environment says how strict to be:
//
//	GPU=require      a missing device or program fails the test; tools/test sets it
//	GPU=none         tests that need a device or a browser skip, even if there is one
//	TESSERA_MACHINE  versions of drivers and programs, which tools/test fills in
//
// It imports only the standard library, so that every package's tests can use it.
package testenv

import (
	"os"
	"testing"
)

// Device skips a test that needs a device or a browser if GPU=none, and calls Watch.
func Device(t testing.TB) {
	t.Helper()
	Watch()
	if os.Getenv("GPU") == "none" {
		t.Skip("GPU=none: this test needs a device or a browser")
	}
}

// Watch reads the versions of drivers and programs outside of the module. Go's test
// cache then repeats the test when one of them changes. Every test that starts such a
// program or opens a device calls it, directly or through Device.
func Watch() {
	os.Getenv("TESSERA_MACHINE")
	os.Getenv("VK_DRIVER_FILES")
}

// Required reports whether a missing device or program fails a test.
func Required() bool { return os.Getenv("GPU") == "require" }

// Missing ends a test because a device or a program is missing: it fails the test if
// Required, and skips it otherwise.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if Required() {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// left is the log message if -short leaves something out. tools/test looks for it and
// lets make test-all run those tests again, whole.
const left = "left to make test-all"

// Long skips a test, or a case of one, that make test leaves to make test-all: it takes
// long on a processor, or differs little from one that runs.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip(left)
	}
}

// Short reports whether make test leaves a part of a test to make test-all, and logs
// it. It is for loops in which Long would end too much.
func Short(t testing.TB) bool {
	t.Helper()
	if testing.Short() {
		t.Log(left + ", in part")
	}
	return testing.Short()
}
