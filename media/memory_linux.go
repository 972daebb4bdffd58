package media

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// freeMemory is what can be allocated without swapping, as the kernel has it, and
// no more than what the process's group of a container may have; much where it
// can't be told.
func freeMemory() int64 {
	free := int64(math.MaxInt64)
	text, err := os.ReadFile("/proc/meminfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			var kilobytes int64
			if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kilobytes); n == 1 {
				free = kilobytes << 10
			}
		}
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			free = min(free, limit)
		}
	}
	return free
}
