//go:build !js

package job

import (
	"strconv"

	"tessera/engine"
	"tessera/vae"
)

// Less describes the smaller plan of a job that ran out of device memory.
func Less(was, now *vae.Plan, finished int) string {
	text := "out of memory on the device with " + engine.Bytes(was.Bytes()) + ": going on with " + engine.Bytes(now.Bytes()) + " in " + Cut(now)
	if now.Tiles.Whole() || now.Tiling == vae.Exact || now.Tile == was.Tile {
		text += ", which makes the same"
	} else {
		text += ", which see no further than their edges: colours may differ from tile to tile"
	}
	if finished > 0 {
		text += "; finished frames are kept, " + strconv.Itoa(finished)
	}
	return text
}
