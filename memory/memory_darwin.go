package memory

import (
	"os"

	"golang.org/x/sys/unix"
)

// Free returns how many bytes can be allocated without swapping: free pages, file pages
// including speculative ones, and purgeable pages.
func Free() (bytes int64, known bool) {
	for _, name := range []string{"vm.page_free_count", "vm.page_pageable_external_count", "vm.page_purgeable_count"} {
		pages, err := unix.SysctlUint32(name)
		if err != nil {
			return 0, false
		}
		bytes += int64(pages) * int64(os.Getpagesize())
	}
	return bytes, true
}
