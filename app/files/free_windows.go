package files

import "golang.org/x/sys/windows"

// FreeSpace returns how many bytes the user may still write in a folder.
func FreeSpace(dir string) (bytes int64, known bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var free uint64
	if windows.GetDiskFreeSpaceEx(name, &free, nil, nil) != nil {
		return 0, false
	}
	return int64(free), true
}
