//go:build !js

package wgsl

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// Sets makes sets of the operations' kernels.
type Sets = func(Elem, gpu.Info, Choices) (*Set, error)

// Variant is a kernel of conv3d for a test: the plain one with a piece of its text
// replaced, and other sizes of its tile.
type Variant struct {
	Name, Old, New string
	WG, Pixels     int
	Stride, Tall   int
	Better         bool // it goes before those in front of it
}

// WithVariants is NewSet with tables in which conv3d has these kernels alone; the
// first is the one that comes first, unless another is better.
func WithVariants(t *testing.T, variants ...Variant) Sets {
	before := texts
	t.Cleanup(func() { texts = before })
	wrong := strings.Replace(sharedConv3dText, "if real {", "if real && BLOCKS > 1u {", 1) // of one block it stores nothing
	texts = append(slices.Clone(texts), embedded{"shared/conv3d_wrong_of_one.wgsl", &wrong})
	all := slices.Clone(tables)
	at := slices.IndexFunc(all, func(t table) bool { return t.operation == "conv3d" })
	all[at].kernels = nil
	for _, v := range variants {
		file := "conv3d_test_" + v.Name
		require.Contains(t, conv3dText, v.Old)
		text := strings.Replace(conv3dText, v.Old, v.New, 1)
		texts = append(texts, struct {
			file string
			text *string
		}{file + ".wgsl", &text})
		better := func(gpu.Info) bool { return v.Better }
		all[at].kernels = append(all[at].kernels, kernel{
			name: v.Name, packing: blocks4x8, better: better,
			shaders: []shader{{file: file, taps: 3, stride: v.Stride, tall: v.Tall, wg: v.WG, pixels: v.Pixels, block: 8, grid: segmentGrid}},
		})
	}
	return func(e Elem, a gpu.Info, c Choices) (*Set, error) { return newSet(e, a, c, all) }
}
