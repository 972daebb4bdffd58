package job

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"tessera/tiling"
	"tessera/vae"
)

// Note describes the choice of --tile auto: whether the result equals one tile's, and
// what lives on the host.
func TestNoteOfTheLargest(t *testing.T) {
	one := vae.Plan{Tiling: vae.Feather, Budget: 1 << 30, Tiles: tiling.Plan{Tiles: make([]tiling.Tile, 1)}}
	away := one
	away.Away, away.Host, away.Moved = true, 3<<30, 40<<30
	streams := away
	streams.Streamed = 1 << 20
	weights := streams
	weights.Away = false
	tiles := one
	tiles.Tile, tiles.Overlap, tiles.Tiles.Tiles = tiling.Square(256), tiling.Square(64), make([]tiling.Tile, 6)
	exact := tiles
	exact.Tiling, exact.Halo = vae.Exact, tiling.Square(40)
	for _, test := range []struct {
		plan          vae.Plan
		note, crosses string
	}{
		{one, "one tile, the largest within 1.00 GiB, exact", ""},
		{away, "one tile, the largest within 1.00 GiB, exact, with causal memory on the host", "3.00 GiB of causal memory on the host, 40.00 GiB moved"},
		{streams, "one tile, the largest within 1.00 GiB, exact, with causal memory and weights on the host", "3.00 GiB of causal memory and weights on the host, 40.00 GiB moved"},
		{weights, "one tile, the largest within 1.00 GiB, exact, with weights on the host", "3.00 GiB of weights on the host, 40.00 GiB moved"},
		{tiles, "6 tiles of 256x256, overlap 64x64, the largest within 1.00 GiB, not exact", ""},
		{exact, "6 exact tiles of 256x256, halo 40, the largest within 1.00 GiB, exact", ""},
	} {
		c := vae.Config{Tilings: []vae.Tiling{test.plan.Tiling}}
		assert.Equal(t, test.note, Note(c, vae.Options{Tile: tiling.Choice{Auto: true}}, &test.plan))
		assert.Equal(t, test.crosses, Crosses(&test.plan))
		assert.Empty(t, Note(c, vae.Options{}, &test.plan), "one tile was asked for")
	}
	away.Shrunk = true
	assert.Equal(t, "tiles of 512x512 don't fit 1.00 GiB and the device's limits: taking one tile, with causal memory on the host",
		Note(vae.Config{Tilings: []vae.Tiling{vae.Feather}}, vae.Options{Tile: tiling.Choice{Tile: tiling.Square(512)}}, &away))
}
