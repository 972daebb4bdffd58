//go:build !js

package wgsl

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"tessera/gpu"
)

// Mesa's drivers for processors load keys and values together; version 25 computes
// fewer sums per load.
func TestAttentionKernel(t *testing.T) {
	for _, c := range []struct {
		info gpu.Info
		want string
	}{
		{llvmpipe("Mesa 25.0.7-2 (LLVM 15.0.6) 0.0.1"), "cooperative"},
		{llvmpipe("Mesa 26.2.6 (LLVM 22.1.8) 0.0.1"), "blocked"},
		{gpu.Info{Name: "SwiftShader", Type: "cpu", Subgroups: true, SubgroupMin: 4, SubgroupMax: 4}, "cooperative4"},
		{gpu.Info{Vendor: "intel", Subgroups: true, SubgroupMin: 8, SubgroupMax: 32}, "plain"},
		{gpu.Info{}, "plain"},
	} {
		assert.Equal(t, c.want, (&Set{info: c.info, tables: tables}).find("attention", nil).name, "%+v", c.info)
	}
}
