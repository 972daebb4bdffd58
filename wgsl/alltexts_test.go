//go:build !js

package wgsl

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// TestAllTexts writes every text that a program can have, without comments, into the
// folder TESSERA_TEXTS. Compare two versions with diff -r.
func TestAllTexts(t *testing.T) {
	folder := os.Getenv("TESSERA_TEXTS")
	if folder == "" {
		t.Skip("TESSERA_TEXTS names no folder")
	}
	require.NoError(t, os.MkdirAll(folder, 0o777))
	for _, table := range tables {
		for _, k := range table.kernels {
			for i := range k.shaders {
				for name, h := range forms(&k.shaders[i]) {
					for _, elem := range []Elem{F32, F16, Packed} {
						for _, weight := range []Elem{F32, Packed} {
							if k.onlyF16 && elem != F16 {
								continue
							}
							file := fmt.Sprintf("%s.%s.%d.%s.%v.%v", table.operation, k.name, i, name, elem, weight)
							require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(withoutComments(h.source(elem, weight))), 0o666))
						}
					}
				}
			}
		}
	}
}

// matrices are the sizes of subgroup matrices on cards and lavapipe: m x n x k, and the
// largest subgroup.
var matrices = [][4]int{{16, 8, 16, 32}, {16, 16, 16, 32}, {16, 16, 16, 64}, {8, 16, 16, 16}, {8, 8, 16, 8}, {8, 8, 8, 32}, {8, 8, 8, 8}}

// able returns an adapter with matrices of a size.
func able(m, n, k, subgroup int) gpu.Info {
	return gpu.Info{
		Name: "able", F16: true, Subgroups: true, SubgroupSize: true, SubgroupMin: min(32, subgroup), SubgroupMax: subgroup,
		Matrices: []gpu.Matrix{{M: m, N: n, K: k, In: "f16", Out: "f16"}, {M: m, N: n, K: k, In: "f16", Out: "f32"}},
		Limits:   gpu.Limits{MaxWorkgroupMemory: 48 << 10, MaxInvocations: 512},
	}
}

// forms returns a shader for each number of blocks and pixels, and each size of
// matrices.
func forms(h *shader) map[string]*shader {
	all := map[string]*shader{}
	if h.fit != nil {
		for _, m := range matrices {
			all[fmt.Sprintf("%dx%dx%d of %d", m[0], m[1], m[2], m[3])] = h.fit(h, able(m[0], m[1], m[2], m[3]))
		}
		return all
	}
	for blocks := range max(3, h.blocks) + 1 {
		for _, pixels := range []int{h.pixels, 6, 8} {
			form := *h
			form.blocks = blocks
			if h.blocks == 0 {
				form.blocks = 0
			}
			if h.blocks > 0 {
				form.pixels = pixels
				if blocks == 0 {
					continue
				}
			}
			all[fmt.Sprintf("%d blocks of %d", form.blocks, form.pixels)] = &form
		}
	}
	return all
}

// A shader with ReLU has another store4, and stores every result with it.
func TestReLUTexts(t *testing.T) {
	for _, table := range tables {
		for _, k := range table.kernels {
			if !takesReLU(table.operation) {
				continue
			}
			h := &k.shaders[0]
			if table.operation == "group_norm" {
				h = &k.shaders[2]
			}
			for form, h := range forms(h) {
				text := h.withReLU(true).source(F16, Packed)
				assert.Contains(t, text, "fn relu(", "%s/%s %s", table.operation, k.name, form)
				assert.Len(t, storesY.FindAllString(text, -1), strings.Count(text, "= store4("), "%s/%s %s", table.operation, k.name, form)
			}
		}
	}
}

var storesY = regexp.MustCompile(`(?m)^ *y\[.*\] = `)
