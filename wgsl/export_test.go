//go:build !js

package wgsl

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// Sets creates sets of the operations' kernels.
type Sets = func(Elem, gpu.Info, Choices) (*Set, error)

// Variant is a kernel of conv3d for a test: the plain one with a part of its text
// replaced, and with other sizes of its tile.
type Variant struct {
	Name, Old, New string
	WG, Pixels     int
	Stride, Blocks int
	Text           string // the whole text, instead of the plain kernel's
	Better         bool   // it comes before those above it
}

// WithVariants returns NewSet with tables in which conv3d has only these kernels. The
// first one is the default, unless another is better.
func WithVariants(t *testing.T, variants ...Variant) Sets {
	before := texts
	t.Cleanup(func() { texts = before })
	added := fstest.MapFS{}
	texts = both{added, embedded}
	whole, err := fs.ReadFile(embedded, "plain/conv3d.wgsl")
	require.NoError(t, err)
	all := slices.Clone(tables)
	at := slices.IndexFunc(all, func(t table) bool { return t.operation == "conv3d" })
	all[at].kernels = nil
	for _, v := range variants {
		file, text := "plain/conv3d_test_"+v.Name, string(whole)
		if v.Text != "" {
			text = v.Text
		}
		require.Contains(t, text, v.Old)
		added[file+".wgsl"] = &fstest.MapFile{Data: []byte(strings.Replace(text, v.Old, v.New, 1))}
		better := func(gpu.Info) bool { return v.Better }
		all[at].kernels = append(all[at].kernels, kernel{
			name: v.Name, packing: blocks4x8, better: better,
			shaders: []shader{{file: file, taps: 3, stride: v.Stride, blocks: v.Blocks, wg: v.WG, pixels: v.Pixels, block: 8, grid: segmentGrid}},
		})
	}
	return func(e Elem, a gpu.Info, c Choices) (*Set, error) { return newSet(e, a, c, all) }
}

// both is a file system of the files of first, then of second.
type both struct{ first, second fs.FS }

func (b both) Open(name string) (fs.File, error) {
	if f, err := b.first.Open(name); err == nil {
		return f, nil
	}
	return b.second.Open(name)
}
