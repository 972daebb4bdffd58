package tune

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/wgsl"
)

// adapters have among them all kernels.
var adapters = map[string]gpu.Info{
	"lavapipe 25": {Name: "llvmpipe (LLVM 15.0.6, 256 bits)", Driver: "llvmpipe: Mesa 25.0.7", Type: "cpu", Subgroups: true, SubgroupMin: 8, SubgroupMax: 8},
	"lavapipe 26": {Name: "llvmpipe (LLVM 22.1.0, 256 bits)", Driver: "llvmpipe: Mesa 26.2.6", Type: "cpu", Subgroups: true, SubgroupMin: 8, SubgroupMax: 8},
	"swiftshader": {Name: "SwiftShader Device", Type: "cpu", Subgroups: true, SubgroupMin: 4, SubgroupMax: 4},
	"intel":       {Name: "intel", Vendor: "intel", Backend: "vulkan", Type: "discrete", F16: true, Subgroups: true, SubgroupSize: true, SubgroupMin: 16, SubgroupMax: 32},
	"card": {
		Name: "card", Vendor: "nvidia", Type: "discrete", F16: true, Subgroups: true, SubgroupMin: 32, SubgroupMax: 32,
		Matrices: []gpu.Matrix{{M: 16, N: 8, K: 16, In: "f16", Out: "f32"}}, Limits: gpu.Limits{MaxWorkgroupMemory: 64 << 10, MaxInvocations: 1024},
	},
}

// Each text that a kernel may have, for any channels, frames and taps, is in a case
// that verifies it.
func TestEveryTextHasCase(t *testing.T) {
	seen := map[Verification]bool{}
	for name, info := range adapters {
		for _, elem := range []wgsl.Elem{wgsl.F32, wgsl.F16} {
			usual, err := wgsl.NewSet(elem, info, nil)
			require.NoError(t, err)
			c := &chooser{Tuner: &Tuner{}, ctx: context.Background(), info: info, elem: elem, usual: usual, sets: map[string]*wgsl.Set{}, expected: map[expectation]func() []float64{}}
			for _, operation := range wgsl.Operations() {
				for _, kernel := range wgsl.Kernels(operation, elem, info)[1:] {
					set, err := c.set(elem, operation, kernel)
					require.NoError(t, err)
					for _, out := range []int{4, 12, 20, 32, 40, 48, 56, 96, 128} {
						for _, z := range []size{{2, 4, 4}, {2, 18, 30}, {2, 64, 64}} {
							for taps := 1; taps <= 3; taps++ {
								d := wgsl.Workload{Class: wgsl.Class{Operation: operation, In: 64, Out: out}, Taps: taps, Weight: wgsl.Packed}
								for _, command := range newSample(set, d, d.Weight, z).batch.Commands {
									of, ok := set.Workload(command.Program)
									if claim := c.claim(of, of.Kernel); ok && of.Operation == operation && of.Kernel == kernel && !seen[claim] {
										seen[claim] = true
										p, err := c.verifyCase(of, kernel)
										require.NoError(t, err)
										assert.NotNil(t, p, "%s: %+v of %d channels on %+v", name, of, out, z)
									}
								}
							}
						}
					}
				}
			}
		}
	}
	blocks, all := map[int]bool{}, map[int]bool{0: true}
	for claim := range seen {
		blocks[claim.Blocks] = true
	}
	usual, err := wgsl.NewSet(wgsl.F32, gpu.Info{}, nil)
	require.NoError(t, err)
	for n := 4; n > 1; n-- { // as many as a kernel has, and fewer if channels don't fill them
		if len(all) > 1 || strings.Contains(usual.Texts(), fmt.Sprintf("const BLOCKS: u32 = %d;", n)) {
			all[n], all[1] = true, true
		}
	}
	require.Equal(t, all, blocks)
}

// Winograd's plain kernel computes frames one by one with other operations' kernels,
// and needs no separate verification to be tried.
func TestPlainWinogradIsTried(t *testing.T) {
	for name, info := range adapters {
		usual, err := wgsl.NewSet(wgsl.F32, info, nil)
		require.NoError(t, err)
		c := &chooser{Tuner: &Tuner{NoCache: true, found: map[string]Record{}}, ctx: context.Background(), info: info, usual: usual, sets: map[string]*wgsl.Set{}, expected: map[expectation]func() []float64{}}
		for _, operation := range []string{"conv3d_winograd", "conv_up_winograd"} {
			d := wgsl.Workload{Class: wgsl.Class{Operation: operation, In: 64, Out: 64}, Weight: wgsl.F32}
			ok, err := c.verify(d, "plain")
			require.NoError(t, err)
			require.True(t, ok, "%s: %s", name, operation)
			require.Contains(t, c.trusted(workload{Workload: d}), "plain")
		}
		require.Empty(t, c.record.Verifications)
	}
}

// On an adapter where every kernel is wrong, the plain ones are used.
func TestAllRefuted(t *testing.T) {
	info := adapters["card"]
	usual, err := wgsl.NewSet(wgsl.F16, info, nil)
	require.NoError(t, err)
	d := workload{wgsl.Workload{Class: wgsl.Class{Operation: "pointwise", In: 64, Out: 64}, Taps: 1, Weight: wgsl.Packed}, 1 << 50}
	c := &chooser{Tuner: &Tuner{}, info: info, elem: wgsl.F16, usual: usual}
	require.Greater(t, len(c.kernels(d)), 2)
	for _, kernel := range c.kernels(d) {
		claim := c.claim(d.Workload, kernel)
		claim.Verdict = "disagrees with the reference"
		c.record.add(Record{Verifications: []Verification{claim}})
	}
	require.Nil(t, c.candidates(d))
	require.Equal(t, wgsl.Choices{"pointwise": "plain"}, c.choices(map[wgsl.Workload]int64{d.Workload: d.flops}, []workload{d}))
}
