//go:build !js

package media

import "tessera/memory"

// freeMemory is what can be allocated without swapping; a guess where that can't be
// told: what a machine of today has.
func freeMemory() int64 {
	if free, known := memory.Free(); known {
		return free
	}
	return 16 << 30
}
