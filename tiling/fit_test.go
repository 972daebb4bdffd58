package tiling

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// area needs 100 bytes per pixel, and 1000 for any size.
func area(tile Size) (int64, error) { return 1000 + 100*int64(tile.H)*int64(tile.W), nil }

func TestFit(t *testing.T) {
	cases := []struct {
		name   string
		frame  Size
		budget int64
		want   Size
	}{
		{"all of it", Size{1080, 1920}, 1000 + 100*1080*1920 + 1e6, Square(1920)},
		{"exactly", Size{1080, 1920}, 1000 + 100*1080*1920, Square(1920)},
		{"one byte less", Size{1080, 1920}, 1000 + 100*1080*1920 - 1, Square(1912)},
		{"a square", Size{1080, 1920}, 1000 + 100*512*512, Square(512)},
		{"just below", Size{1080, 1920}, 1000 + 100*512*512 - 1, Square(504)},
		{"taller than the frame", Size{256, 1920}, 1000 + 100*256*1000, Square(1000)},
		{"the smallest", Size{1080, 1920}, 1000 + 100*128*128, Square(128)},
		{"frame below the smallest", Size{40, 40}, 1000 + 100*40*40, Square(128)},
		{"odd frame", Size{35, 200}, 1000 + 100*40*200, Square(200)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Fit(c.frame, 128, c.budget, area)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestFitRefuses(t *testing.T) {
	_, err := Fit(Size{1080, 1920}, 128, 1e6, area)
	require.ErrorIs(t, err, ErrBudget)
	require.ErrorContains(t, err, "the smallest tile, 128x128, needs 1.6 MiB of 1.0")
	broken := errors.New("no plan")
	for _, fails := range []int{1920, 128, 512} {
		_, err := Fit(Size{1920, 1920}, 128, 100*600*600, func(tile Size) (int64, error) {
			if tile.W == fails || fails == 512 && tile.W < 1920 && tile.W > 128 {
				return 0, broken
			}
			return area(tile)
		})
		require.ErrorIs(t, err, broken, "failing at %d", fails)
	}
	_, err = Fit(Size{0, 8}, 64, 1, area)
	require.Error(t, err, "an empty frame was accepted")
}

// For any peak the answer is a tile that peak accepted; for one that grows with the tile,
// it is the largest.
func TestFitAnswersWithinBudget(t *testing.T) {
	stepped := func(tile Size) (int64, error) { return int64(tile.H/64) * int64(tile.W/64), nil }
	limited := func(tile Size) (int64, error) {
		if tile.H*tile.W > 300*300 {
			return math.MaxInt64, nil
		}
		return int64(tile.H * tile.W), nil
	}
	jagged := func(tile Size) (int64, error) { return int64(tile.W * (1 + tile.W/8%3)), nil }
	for name, peak := range map[string]func(Size) (int64, error){"stepped": stepped, "limited": limited, "jagged": jagged} {
		for budget := int64(1); budget < 2000; budget += 7 {
			budget := budget * budget
			var asked, within []Size
			got, err := Fit(Size{720, 1280}, 64, budget, func(tile Size) (int64, error) {
				bytes, err := peak(tile)
				asked = append(asked, tile)
				if bytes <= budget {
					within = append(within, tile)
				}
				return bytes, err
			})
			if err == nil {
				clamped := Size{min(got.H, 720), min(got.W, 1280)}
				require.Contains(t, within, clamped, "%s, budget %d: never within it; asked %v", name, budget, asked)
			}
			require.LessOrEqual(t, len(asked), 12, "%s: plans made", name)
			if name == "jagged" || err != nil || got.W >= 1280 {
				continue
			}
			next := Size{min(got.H+8, 720), min(got.W+8, 1280)}
			bytes, _ := peak(next)
			require.Greater(t, bytes, budget, "%s, budget %d: %v, but %v fits as well", name, budget, got, next)
		}
	}
}

func TestSmallestAuto(t *testing.T) {
	for overlap, want := range map[Size]int{{}: 64, {16, 8}: 64, {64, 64}: 128, {20, 50}: 104} {
		require.Equal(t, want, SmallestAuto(Size{720, 1280}, overlap), "overlap %v", overlap)
	}
	for frame, want := range map[Size]int{Square(1 << 14): 64, Square(1 << 17): 512, {1 << 9, 1 << 20}: 104} {
		side := SmallestAuto(frame, Size{})
		require.Equal(t, want, side, "frame %v", frame)
		_, err := Encode(frame.H, frame.W, Options{Tile: Square(side)})
		require.NoError(t, err, "frame %v", frame)
		if side > 64 {
			_, err = Encode(frame.H, frame.W, Options{Tile: Square(side - Factor)})
			require.ErrorIs(t, err, ErrTile, "frame %v: a smaller tile does as well", frame)
		}
	}
}

func TestParse(t *testing.T) {
	for s, want := range map[string]Choice{
		"off": {}, "auto": {Auto: true}, "512": {Tile: Square(512)}, "512x384": {Tile: Size{512, 384}}, "8": {Tile: Square(8)},
	} {
		got, err := ParseTile(s)
		require.NoError(t, err, "tile %s", s)
		require.Equal(t, want, got, "tile %s", s)
		again, err := ParseTile(got.String())
		require.NoError(t, err, "tile %s prints as %s", s, got)
		require.Equal(t, got, again, "tile %s prints as %s", s, got)
	}
	for _, s := range []string{"", "Auto", "x", "512x", "x512", "-512", "5.5", "512x512x512", "512 ", "0", "7", "512x4", "99999999999", "33554432", "0x10"} {
		_, err := ParseTile(s)
		assert.ErrorIs(t, err, ErrTile, "tile %q", s)
	}
	for s, want := range map[string]Size{"0": {}, "64": Square(64), "64x32": {64, 32}, "0x8": {0, 8}} {
		got, err := ParseOverlap(s)
		require.NoError(t, err, "overlap %s", s)
		require.Equal(t, want, got, "overlap %s", s)
	}
	for _, s := range []string{"", "off", "1", "7", "64x3", "-8", "64x", "1e2"} {
		_, err := ParseOverlap(s)
		assert.ErrorIs(t, err, ErrOverlap, "overlap %q", s)
	}
}
