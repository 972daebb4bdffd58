package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/vae"
)

// TestBatches writes the commands of plan.md's models, as recorded for several kinds of
// adapters, into the folder TESSERA_TEXTS. Compare two versions with diff -r.
func TestBatches(t *testing.T) {
	folder := os.Getenv("TESSERA_TEXTS")
	if folder == "" {
		t.Skip("TESSERA_TEXTS names no folder")
	}
	require.NoError(t, os.MkdirAll(folder, 0o777))
	cpu := func(name, driver string, subgroup int) gpu.Info {
		return gpu.Info{Name: name, Driver: driver, Type: "cpu", Subgroups: true, SubgroupMin: subgroup, SubgroupMax: subgroup}
	}
	for name, kind := range map[string]gpu.Info{
		"any": {}, "nvidia": {Vendor: "nvidia", Type: "discrete", F16: true}, "amd": {Vendor: "amd", Type: "discrete", F16: true},
		"mesa25": cpu("llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe: Mesa 25.0.7", 8), "mesa26": cpu("llvmpipe (LLVM 22.1.8, 256 bits)", "llvmpipe: Mesa 26.2.6", 8),
		"swiftshader": cpu("SwiftShader Device", "", 4),
	} {
		adapter := unlimited()
		kind.Limits, kind.Memory = adapter.Limits, adapter.Memory
		for i, p := range planned {
			path := headerOnly(t, p.tensors)
			for _, precision := range []vae.Precision{vae.F32, vae.F16} {
				m, err := vae.Inspect(path, kind, vae.Settings{Precision: precision, Force: true})
				require.NoError(t, err)
				for _, direction := range []string{"decode", "encode"} {
					for _, frames := range clips(m) {
						var all strings.Builder
						for _, batch := range batchesOf(plan(t, m, direction, tiling.Square(512), frames, 0)) {
							all.WriteString(batch.String())
						}
						file := fmt.Sprintf("%s.%d.%v.%s.%d", name, i, precision, direction, frames)
						require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(all.String()), 0o666))
					}
				}
				m.Close()
			}
		}
	}
}

// batchesOf returns a plan's batches, each kind of slice of each tile once.
func batchesOf(p *vae.Plan) (all []*gpu.Batch) {
	seen := map[*gpu.Batch]bool{}
	for _, pass := range p.Work.Passes {
		for _, kinds := range pass.Recorded {
			for _, r := range kinds {
				if r == nil {
					continue
				}
				for _, b := range r.Batches() {
					if !seen[b] {
						all, seen[b] = append(all, b), true
					}
				}
			}
		}
	}
	return all
}
