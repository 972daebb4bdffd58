//go:build linux || darwin || freebsd

package files

import "syscall"

// FreeSpace returns how many bytes the user may still write in a folder.
func FreeSpace(dir string) (bytes int64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
