package tiling_test

import (
	"errors"
	"fmt"

	"tessera/tiling"
)

// Plan the encoding of a small frame: what the model reads for each tile, and which cells
// of the latent are final after it.
func ExampleEncode() {
	plan, err := tiling.Encode(64, 96, tiling.Options{
		Tile: tiling.Square(64), Overlap: tiling.Square(16),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d row of %d tiles, a latent of %v cells\n", plan.Rows, plan.Cols, plan.Out)
	for i, tile := range plan.Tiles {
		in, final := tile.In, tile.Final
		fmt.Printf("tile %d: %v pixels from row %d, column %d; columns %d to %d are final\n",
			i, in.Size(), in.Y0, in.X0, final.X0, final.X1)
	}
	// Output:
	// 1 row of 2 tiles, a latent of 8x12 cells
	// tile 0: 64x64 pixels from row 0, column 0; columns 0 to 6 are final
	// tile 1: 64x48 pixels from row 0, column 48; columns 6 to 12 are final
}

// Plan the decoding of a latent of 1080p in the default tiles. The right and bottom tiles
// are cut.
func ExampleDecode() {
	plan, err := tiling.Decode(135, 240, tiling.Options{
		Tile: tiling.Square(tiling.DefaultTile), Overlap: tiling.Square(tiling.DefaultOverlap),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d x %d tiles, %v pixels\n", plan.Rows, plan.Cols, plan.Out)
	for i, tile := range plan.Tiles {
		if (i+1)%plan.Cols == 0 { // last of its row
			fmt.Printf("tile %d is of %v cells; after it %d rows are final\n", i, tile.In.Size(), tile.Final.Y1)
		}
	}
	// Output:
	// 3 x 5 tiles, 1080x1920 pixels
	// tile 4 is of 64x16 cells; after it 448 rows are final
	// tile 9 is of 64x16 cells; after it 896 rows are final
	// tile 14 is of 23x16 cells; after it 1080 rows are final
}

// Impossible options cause an error that names the option.
func ExampleOptions() {
	_, err := tiling.Decode(90, 160, tiling.Options{Tile: tiling.Square(256), Overlap: tiling.Square(256)})
	fmt.Println(errors.Is(err, tiling.ErrOverlap), err)
	// Output:
	// true tiling: overlap 256x256 with tile 256x256: unusable overlap: must be smaller than the tile
}

// Find the largest tile for 200 MB if a pixel takes 1000 bytes.
func ExampleFit() {
	peak := func(tile tiling.Size) (int64, error) { return 1000 * int64(tile.H) * int64(tile.W), nil }
	frame, overlap := tiling.Size{H: 720, W: 1280}, tiling.Square(tiling.DefaultOverlap)
	tile, err := tiling.Fit(frame, tiling.SmallestAuto(frame, overlap), 200e6, peak)
	fmt.Println(tile, err)
	_, err = tiling.Fit(frame, tiling.SmallestAuto(frame, overlap), 10e6, peak)
	fmt.Println(errors.Is(err, tiling.ErrBudget))
	// Output:
	// 440x440 <nil>
	// true
}
