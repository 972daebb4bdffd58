package tiling

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every build cuts and blends alike, byte for byte: natively and as WebAssembly, the
// plans, feather weights, counts and a blended result of these sizes have this hash. It
// changes only with an intended change of the tiling.
func TestIdenticalInEveryBuild(t *testing.T) {
	const want = "7024ca25e71cc0521b8c038c36f9ea3c7d0c20c912ac84bc73f08c9a7fa793ad"
	h := sha256.New()
	put := func(v any) { require.NoError(t, binary.Write(h, binary.LittleEndian, v)) }
	plans := 0
	for _, size := range []Size{{5, 6}, {16, 16}, {90, 160}, {135, 240}, {67, 33}} {
		for _, tile := range []Size{{}, Square(24), {128, 256}, Square(512)} {
			for _, overlap := range []Size{{}, {8, 16}, Square(20), Square(64)} {
				o := Options{Tile: tile, Overlap: overlap}
				for _, plan := range []func() (Plan, error){
					func() (Plan, error) { return Decode(size.H, size.W, o) },
					func() (Plan, error) { return Encode(size.H*Factor, size.W*Factor, o) },
				} {
					p, err := plan()
					if err != nil {
						continue // refused: overlap too large for the tile
					}
					plans++
					blended := make([]float32, p.Out.H*p.Out.W)
					for i, tile := range p.Tiles {
						for _, r := range []Rect{tile.Cells, tile.In, tile.Out, tile.Final} {
							put([]int64{int64(r.Y0), int64(r.Y1), int64(r.X0), int64(r.X1)})
						}
						put(tile.WY)
						put(tile.WX)
						blendValue(blended, p, tile, float32(i%7)-2.5)
					}
					count := p.Count()
					put(count)
					for i := range blended {
						blended[i] /= max(count[i], MinCount)
					}
					put(blended)
				}
			}
		}
	}
	require.GreaterOrEqual(t, plans, 100)
	require.Equal(t, want, fmt.Sprintf("%x", h.Sum(nil)), "hash of %d plans", plans)
}

// blendValue adds a tile with one value everywhere, as the kernels do: the rounded weight
// first, then the product.
func blendValue(sum []float32, p Plan, t Tile, v float32) {
	for y, wy := range t.WY {
		row := sum[(t.Out.Y0+y)*p.Out.W+t.Out.X0:]
		for x, wx := range t.WX {
			w := float32(wy * wx)
			row[x] += float32(w * v)
		}
	}
}
