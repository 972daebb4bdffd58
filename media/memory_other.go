//go:build !js

package media

import "tessera/memory"

// freeMemory returns how many bytes can be allocated without swapping. If the system does
// not say, it guesses a present-day machine's memory.
func freeMemory() int64 {
	if free, known := memory.Free(); known {
		return free
	}
	return 16 << 30
}
