//go:build !darwin && !linux && !windows

package memory

// Free is not supported on this system.
func Free() (bytes int64, known bool) { return 0, false }
