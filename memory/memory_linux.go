package memory

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Free returns how many bytes can be allocated without swapping: the kernel's estimate,
// limited to what the control groups of containers and jobs leave to the process. known
// is false if the system does not say.
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
	groups, _ := os.ReadFile("/proc/self/cgroup")
	return min(bytes, left(string(groups), "/sys/fs/cgroup")), known
}

// left returns what the process's groups and their parents may still allocate, from the
// files below root: of version 2, of version 1, or both.
func left(groups, root string) int64 {
	least := int64(math.MaxInt64)
	for line := range strings.Lines(groups) {
		_, rest, _ := strings.Cut(line, ":") // number:controllers:path
		controllers, path, _ := strings.Cut(strings.TrimSpace(rest), ":")
		top, limit, usage, cache := root, "memory.max", "memory.current", "inactive_file"
		switch controllers {
		case "":
		case "memory":
			top, limit, usage, cache = filepath.Join(root, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
		default:
			continue
		}
		// In a container the path may be the host's; the container's own group is then at
		// the top.
		for dir := filepath.Join("/", path); ; dir = filepath.Dir(dir) {
			at := filepath.Join(top, dir)
			if most, ok := number(at, limit); ok {
				used, _ := number(at, usage)
				least = min(least, max(0, most-max(0, used-stat(at, cache))))
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// number reads a number from a group's file; ok is false if it contains none.
func number(group, file string) (n int64, ok bool) {
	text, err := os.ReadFile(filepath.Join(group, file))
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// stat reads a number of a group's memory.stat: the kernel gives up file pages that were
// not read for long.
func stat(group, name string) (n int64) {
	text, _ := os.ReadFile(filepath.Join(group, "memory.stat"))
	for line := range strings.Lines(string(text)) {
		if value, mine := strings.CutPrefix(line, name+" "); mine {
			n, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return n
}
