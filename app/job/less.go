//go:build !js

package job

import (
	"strconv"

	"tessera/engine"
	"tessera/vae"
)

// Less describes the smaller plan of a job that ran out of device memory.
func Less(was, now *vae.Plan, finished int) string {
	text := "out of memory on the device with " + engine.Bytes(was.Bytes()) + ": continuing with " + engine.Bytes(now.Bytes()) + " in " + Cut(now)
	if now.Tiles.Whole() || now.Tiling == vae.Exact || now.Tile == was.Tile {
		text += ", with the same result"
	} else {
		text += ": colours may differ between tiles"
	}
	if finished > 0 {
		text += "; the " + strconv.Itoa(finished) + " finished frames are kept"
	}
	return text
}
