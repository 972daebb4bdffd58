//go:build !js

package job

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/tiling"
	"tessera/vae"
)

// One line describes the smaller plan of a job, and whether the result changes.
func TestLess(t *testing.T) {
	was := &vae.Plan{Activations: 4 << 30, Tiling: vae.Feather, Tiles: tiling.Plan{Tiles: make([]tiling.Tile, 1)}}
	now := *was
	now.Activations = 2 << 30
	require.Equal(t, "out of memory on the device with 4.00 GiB: continuing with 2.00 GiB in one tile, with the same result; the 12 finished frames are kept", Less(was, &now, 12))
	now.Tile, now.Overlap, now.Tiles.Tiles = tiling.Square(256), tiling.Square(64), make([]tiling.Tile, 6)
	require.Equal(t, "out of memory on the device with 4.00 GiB: continuing with 2.00 GiB in 6 tiles of 256x256, overlap 64x64: colours may differ between tiles", Less(was, &now, 0))
	now.Tiling, now.Halo = vae.Exact, tiling.Square(40)
	require.Equal(t, "out of memory on the device with 4.00 GiB: continuing with 2.00 GiB in 6 exact tiles of 256x256, halo 40, with the same result", Less(was, &now, 0))
}
