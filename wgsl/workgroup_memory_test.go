//go:build !js

package wgsl

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
)

// inWorkgroupMemory has a case for each kernel of any driver that keeps numbers in
// workgroup memory; the matrix kernels' cases run in tools/matrix.sh.
var inWorkgroupMemory = map[string]string{
	"conv3d/tiled":     "TestConv3D/several_tiles_of_40_inputs/f32/tiled",
	"pointwise/tiled":  "TestPointwise/exact_integers/f32/tiled",
	"group_norm/plain": "TestGroupNorm/more_chunks_than_merging_invocations/f32",
	"rms_norm/plain":   "TestRMSNorm/channels_20/f32",
	"attention/narrow": "TestNarrow/attention/f32",
	"conv3d/narrow":    "TestNarrow/primes/f32",
	"conv_up/narrow":   "TestNarrow/up/f32",
	"pointwise/narrow": "TestNarrow/time/f32",
}

// Kernels write the workgroup memory that they read, because devices do not clear it.
// gputest fills it with NaN before every dispatch. Each worker thread of lavapipe has its
// own copy, so the cases run in a process with one worker.
func TestWorkgroupMemoryIsWritten(t *testing.T) {
	if !strings.Contains(gputest.Open(t).Info().Name, "llvmpipe") {
		t.Skip("only lavapipe keeps workgroup memory from one dispatch to the next")
	}
	kernels := map[string]bool{}
	seen := map[string]bool{} // shaders: kernels of one table share some
	for _, table := range tables {
		for _, k := range table.kernels {
			for _, h := range k.shaders {
				if k.onlyF16 || seen[h.file] || !strings.Contains(h.source(F32, F32), "var<workgroup>") {
					continue
				}
				seen[h.file], kernels[table.operation+"/"+k.name] = true, true
			}
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(inWorkgroupMemory)), slices.Sorted(maps.Keys(kernels)))
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^Test(Conv3D|Pointwise|GroupNorm|RMSNorm|Narrow)$/^(several_tiles_of_40_inputs|exact_integers|more_chunks_than_merging_invocations|channels_20|attention|primes|up|time)$/^f32$")
	cmd.Env = append(os.Environ(), "LP_NUM_THREADS=1", "TABLES=all "+strings.Join(slices.Collect(maps.Keys(kernels)), " "))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, test := range inWorkgroupMemory {
		assert.Contains(t, string(out), "--- PASS: "+test+" ", name)
	}
}
