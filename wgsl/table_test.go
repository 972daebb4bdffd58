//go:build !js

package wgsl

import (
	flags "flag"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flags.Bool("update", false, "rewrite docs/reference/kernels.md")

const kernelsFile = "../docs/reference/kernels.md"

const kernelsHead = `# Kernels

The kernels of each operation, in the order of [kernels.go](../../wgsl/kernels.go). ` + "`go test ./wgsl -run TestKernelsPage -update`" + ` writes this page. The plain kernel runs on every adapter, at WebGPU's default limits. On the adapters under *first on*, a kernel takes precedence over those above it. Long jobs try every kernel that the adapter can run, and take the fastest one whose result matches the plain one's.

A tile is invocations per workgroup × pixels × channels per invocation; the adapter's matrix sizes determine the tiles of *matrices* ([cards_matrix.go](../../wgsl/cards_matrix.go)). Shaders in plain/ are for every adapter, those in cards/ for graphics cards, those in processors/ for drivers that compute on a processor. [adapters.go](../../wgsl/adapters.go) has what a kernel requires of an adapter.

| operation | kernel | shaders | tile | weights | first on | gain | measured |
|---|---|---|---|---|---|---|---|
`

// TestKernelsPage checks docs/reference/kernels.md, and that a kernel that comes first somewhere,
// or may be chosen, says why.
func TestKernelsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(kernelsHead)
	for _, table := range tables {
		for i, k := range table.kernels {
			assert.Equal(t, k.better != nil, k.first != "", "%s/%s: first on, and better", table.operation, k.name)
			if i > 0 {
				assert.NotEmpty(t, k.gain, "%s/%s", table.operation, k.name)
				file, section, _ := strings.Cut(k.page, "#")
				page, err := os.ReadFile("../docs/" + file)
				assert.NoError(t, err, "%s/%s", table.operation, k.name)
				assert.Contains(t, strings.ToLower(string(page)), "\n## "+section, "%s/%s: section of docs/%s", table.operation, k.name, file)
			}
			page.WriteString(kernelLine(table.operation, &k))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(kernelsFile, []byte(page.String()), 0o666))
	}
	want, err := os.ReadFile(kernelsFile)
	require.NoError(t, err)
	require.Equal(t, string(want), page.String(), "kernels have changed; if that is meant: go test ./wgsl -run TestKernelsPage -update")
}

func kernelLine(operation string, k *kernel) string {
	var files, tiles []string
	for _, h := range k.shaders {
		files = append(files, fmt.Sprintf("[%s](../../wgsl/%s.wgsl)", path.Base(h.file), h.file))
		switch {
		case h.fit != nil:
			tiles = append(tiles, "matrices")
		case h.block > 0:
			tiles = append(tiles, fmt.Sprintf("%d×%d×%d", h.wg, h.pixels, h.channelsDeep()))
		case h.pixels > 0:
			tiles = append(tiles, fmt.Sprintf("%d×%d", h.wg, h.pixels))
		default:
			tiles = append(tiles, fmt.Sprint(h.wg))
		}
	}
	weights, measured := "", ""
	if k.packing != nil {
		weights = strings.TrimPrefix(k.packing.String(), "in blocks of ")
	}
	if k.page != "" {
		_, section, ok := strings.Cut(k.page, "#")
		if !ok {
			section = strings.TrimSuffix(path.Base(k.page), ".md")
		}
		measured = fmt.Sprintf("[%s](../%s)", section, k.page)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", operation, k.name, strings.Join(files, ", "), strings.Join(tiles, ", "), weights, k.first, k.gain, measured)
}
