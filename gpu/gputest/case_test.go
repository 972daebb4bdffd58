package gputest_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

// A case whose result differs from what it expects fails its test.
func TestWrongResultFails(t *testing.T) {
	dev := gputest.Open(t)
	if runtime.GOOS == "js" {
		t.Skip("a browser starts no process")
	}
	if os.Getenv("TESSERA_WRONG_RESULT") == "" { // the failure is the child's
		cmd := exec.Command(os.Args[0], "-test.run", "^TestWrongResultFails$")
		cmd.Env = append(os.Environ(), "TESSERA_WRONG_RESULT=1")
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "a wrong result passed: %s", out)
		require.Contains(t, string(out), "copy: TestWrongResultFails on ")
		return
	}
	c := gputest.Case{
		Op: "copy", In: []gputest.Array{{Label: "x", Data: []float32{1, 2}}}, Out: gputest.Array{Label: "y", Len: 2},
		Record: func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer) {
			b.Copy("copy", out.All(), in[0].All())
		},
		Want: []float64{1, 3},
	}
	c.Run(t, dev)
}
