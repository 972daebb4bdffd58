package memory

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of all groups of the process the one with the least memory left counts, in either
// version, wherever the container's group is.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name, groups string
		files        map[string]string
		want         int64
	}{
		{"none", "0::/\n", nil, math.MaxInt64},
		{"no limit", "0::/a\n", map[string]string{"a/memory.max": "max\n", "a/memory.current": "5\n"}, math.MaxInt64},
		{"own", "0::/a\n", map[string]string{"a/memory.max": "100\n", "a/memory.current": "30\n"}, 70},
		{"files that are given up", "0::/a\n", map[string]string{
			"a/memory.max": "100\n", "a/memory.current": "90\n", "a/memory.stat": "anon 20\ninactive_file 60\nactive_file 7\n",
		}, 70},
		{"around it", "0::/a/b\n", map[string]string{
			"a/memory.max": "100\n", "a/memory.current": "80\n", "a/b/memory.max": "50\n", "a/b/memory.current": "10\n",
		}, 20},
		{"of the container", "0::/docker/12ab\n", map[string]string{"memory.max": "64\n", "memory.current": "4\n"}, 60},
		{"beyond it", "0::/a\n", map[string]string{"a/memory.max": "100\n", "a/memory.current": "120\n"}, 0},
		{"version 1", "4:memory:/a\n3:cpuset:/b\n0::/c\n", map[string]string{
			"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "1000\n",
			"memory/a/memory.limit_in_bytes": "100\n", "memory/a/memory.usage_in_bytes": "70\n", "memory/a/memory.stat": "inactive_file 1\ntotal_inactive_file 30\n",
			"memory/b/memory.limit_in_bytes": "1\n", "b/memory.max": "1\n",
		}, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range c.files {
				require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
			}
			require.Equal(t, c.want, left(c.groups, root))
		})
	}
}
