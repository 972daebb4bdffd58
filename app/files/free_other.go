//go:build !linux && !darwin && !freebsd && !windows

package files

func FreeSpace(string) (bytes int64, known bool) { return 0, false }
