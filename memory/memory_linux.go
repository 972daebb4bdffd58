package memory

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Free is how many bytes can be allocated without swapping, as the kernel has it, and
// no more than what the process's group of a container may have; known is false where
// it can't be told.
func Free() (bytes int64, known bool) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kilobytes); n == 1 {
			bytes, known = kilobytes<<10, true
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			bytes = min(bytes, limit)
		}
	}
	return bytes, known
}
