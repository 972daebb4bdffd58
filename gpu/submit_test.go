package gpu

import (
	"math/rand/v2"
	"testing"
)

// Whatever room there is, boxes cover a grid exactly once, in order.
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
						if seen[p] || p[0] >= groups[0] || p[1] >= groups[1] || p[2] >= groups[2] {
							t.Fatalf("grid %v limit %d: %v twice or outside, in box %v at %v", groups, limit, p, size, at)
						}
						seen[p] = true
					}
				}
			}
			if size[0] > limit || size[1] > limit || size[2] > limit {
				t.Fatalf("box %v beyond the limit %d", size, limit)
			}
			at = after(groups, at, size)
		}
		if want := int(groups[0] * groups[1] * groups[2]); len(seen) != want {
			t.Fatalf("grid %v: %d of %d groups", groups, len(seen), want)
		}
	}
}

func TestBoxFillsItsRoom(t *testing.T) {
	for _, c := range []struct {
		groups, at [3]uint32
		room       int64
		want       [3]uint32
	}{
		{[3]uint32{10, 4, 3}, [3]uint32{}, 1000, [3]uint32{10, 4, 3}},       // all
		{[3]uint32{10, 4, 3}, [3]uint32{}, 0, [3]uint32{1, 1, 1}},           // at least one
		{[3]uint32{10, 4, 3}, [3]uint32{}, 25, [3]uint32{10, 2, 1}},         // whole rows
		{[3]uint32{10, 4, 3}, [3]uint32{}, 85, [3]uint32{10, 4, 2}},         // whole planes
		{[3]uint32{10, 4, 3}, [3]uint32{3, 1, 0}, 1000, [3]uint32{7, 1, 1}}, // the rest of a row
		{[3]uint32{10, 4, 3}, [3]uint32{0, 1, 0}, 1000, [3]uint32{10, 3, 1}},
	} {
		if got := box(c.groups, c.at, c.room, 65535); got != c.want {
			t.Errorf("box(%v, %v, %d) = %v, want %v", c.groups, c.at, c.room, got, c.want)
		}
	}
}

func TestParamsLayout(t *testing.T) {
	got := Params(struct {
		First First
		N     uint32
		Eps   float32
	}{N: 7, Eps: 1})
	if len(got) != 32 || got[16] != 7 || got[22] != 0x80 || got[23] != 0x3f {
		t.Errorf("%v", got)
	}
}

func TestBatchPrintsAndCounts(t *testing.T) {
	x, y := &Buffer{Label: "x", Size: 64}, &Buffer{Label: "y", Size: 64}
	p := &Program{Label: "twice_f32", Storage: []Access{Read, ReadWrite}}
	b := &Batch{Label: "test"}
	b.Dispatch("layer", p, [3]uint32{1, 2, 3}, First{}, Cost{FLOPs: 5, Bytes: 6}, x.All(), View{Buffer: y, Offset: 16, Size: 16})
	b.Copy("layer memory", y.All(), x.All())
	want := "test: 2 commands\n   0 twice_f32 layer [1 2 3] x[0+64] y[16+16]\n   1 copy layer memory: y[0+64] <- x[0+64]\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := b.Cost(); got != (Cost{FLOPs: 5, Bytes: 134}) {
		t.Errorf("cost %+v", got)
	}
}
