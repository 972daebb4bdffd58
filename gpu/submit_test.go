package gpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// For any room, boxes cover a grid exactly once, in order.
func TestBoxesCoverTheGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		groups := [3]uint32{1 + r.Uint32N(40), 1 + r.Uint32N(12), 1 + r.Uint32N(6)}
		limit := 1 + r.Uint32N(50)
		seen := map[[3]uint32]bool{}
		for at := [3]uint32{}; at[2] < groups[2]; {
			size := box(groups, at, int64(r.Uint32N(2000)), limit)
			for z := range size[2] {
				for y := range size[1] {
					for x := range size[0] {
						p := [3]uint32{at[0] + x, at[1] + y, at[2] + z}
						if seen[p] || p[0] >= groups[0] || p[1] >= groups[1] || p[2] >= groups[2] { // require would take seconds
							t.Fatalf("grid %v limit %d: %v twice or outside, in box %v at %v", groups, limit, p, size, at)
						}
						seen[p] = true
					}
				}
			}
			require.LessOrEqual(t, max(size[0], size[1], size[2]), limit, "box %v", size)
			at = after(groups, at, size)
		}
		require.EqualValues(t, groups[0]*groups[1]*groups[2], len(seen), "groups run of grid %v", groups)
	}
}

func TestBoxFillsItsRoom(t *testing.T) {
	groups := [3]uint32{10, 4, 3}
	for _, c := range []struct {
		name string
		at   [3]uint32
		room int64
		want [3]uint32
	}{
		{"all", [3]uint32{}, 1000, [3]uint32{10, 4, 3}},
		{"at least one", [3]uint32{}, 0, [3]uint32{1, 1, 1}},
		{"whole rows", [3]uint32{}, 25, [3]uint32{10, 2, 1}},
		{"whole planes", [3]uint32{}, 85, [3]uint32{10, 4, 2}},
		{"the rest of a row", [3]uint32{3, 1, 0}, 1000, [3]uint32{7, 1, 1}},
		{"the rest of a plane", [3]uint32{0, 1, 0}, 1000, [3]uint32{10, 3, 1}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, box(groups, c.at, c.room, 65535)) })
	}
}

func TestParamsLayout(t *testing.T) {
	got := Params(struct {
		First First
		N     uint32
		Eps   float32
	}{N: 7, Eps: 1})
	want := make([]byte, 32)
	want[16], want[22], want[23] = 7, 0x80, 0x3f
	require.Equal(t, want, got)
}

func TestBatchPrintsAndCounts(t *testing.T) {
	x, y := &Buffer{Label: "x", Size: 64}, &Buffer{Label: "y", Size: 64}
	p := &Program{Label: "twice_f32", Storage: []Access{Read, ReadWrite}}
	b := &Batch{Label: "test"}
	b.Dispatch("layer", p, [3]uint32{1, 2, 3}, First{}, Cost{FLOPs: 5, Bytes: 6}, x.All(), View{Buffer: y, Offset: 16, Size: 16})
	b.Copy("layer memory", y.All(), x.All())
	want := "test: 2 commands\n   0 twice_f32 layer [1 2 3] x[0+64] y[16+16]\n   1 copy layer memory: y[0+64] <- x[0+64]\n"
	require.Equal(t, want, b.String())
	require.Equal(t, Cost{FLOPs: 5, Bytes: 134}, b.Cost())
}
