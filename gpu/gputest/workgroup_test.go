package gputest_test

import (
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// peek copies workgroup memory that it has not written.
const peek = `
struct Params { first: vec4<u32>, }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
var<workgroup> words: array<u32, 256>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    y[64u * (workgroup.x + params.first.x) + local] = words[local];
    workgroupBarrier();
    words[local] = 1u;
}`

// A kernel that reads workgroup memory before writing it finds a case's poison there.
func TestWorkgroupPoison(t *testing.T) {
	dev := gputest.Open(t)
	if runtime.GOOS == "js" || !strings.Contains(dev.Info().Name, "llvmpipe") {
		t.Skip("only lavapipe keeps this memory from one dispatch to the next; browsers clear it")
	}
	if os.Getenv("LP_NUM_THREADS") != "1" { // each worker thread has its own copy
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestWorkgroupPoison$")
		cmd.Env = append(os.Environ(), "LP_NUM_THREADS=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestWorkgroupPoison")
		return
	}
	out := &gpu.Buffer{Label: "y", Size: 4 * 64}
	b := &gpu.Batch{Label: "peek"}
	type params struct{ First gpu.First }
	b.Dispatch("peek", &gpu.Program{Label: "peek", Source: peek, Storage: []gpu.Access{gpu.ReadWrite}}, [3]uint32{1, 1, 1}, params{}, gpu.Cost{}, out.All())
	commands, scratch := gputest.WithPoison(dev, b.Commands)
	require.NoError(t, dev.Alloc(out, scratch))
	defer dev.Free(out, scratch)
	require.NoError(t, dev.Submit(context.Background(), &gpu.Batch{Label: "peek", Commands: commands}))
	data := make([]byte, out.Size)
	require.NoError(t, dev.Read(context.Background(), data, out.All()))
	for i := 0; i < len(data); i += 4 {
		assert.EqualValues(t, uint32(0xfff1fff1), binary.LittleEndian.Uint32(data[i:]), "word %d", i/4)
	}
}
