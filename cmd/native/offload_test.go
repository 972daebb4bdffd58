package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What lives on the host, and how much of it crossed, is told with the result, as the
// plan has it; without --offload nothing is.
func TestOffloadIsTold(t *testing.T) {
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 9, 32, 32)
	z, out := filepath.Join(dir, "z.npy"), filepath.Join(dir, "o.npy")
	run := func(args ...string) result { return succeedJSON(t, append(args, "-m", tiny, "--precision=f32")...) }
	told := func(name string, s *stage, r planned) {
		require.NotNil(t, s, name)
		assert.Positive(t, min(r.Host, r.Moved), name)
		assert.Equal(t, []int64{r.Host, r.HostWeights, r.Moved}, []int64{s.Host, s.HostWeights, s.Moved}, name)
	}
	plan := func(op string) planned {
		return planJSON(t, "-m", tiny, "--op", op, "--frames=9", "--size=32x32", "--precision=f32", "--tile=off", "--offload=on")
	}
	told("encode", run("encode", clip, "-o", z, "--tile=off", "--offload=on").Encode, plan("encode"))
	told("decode", run("decode", z, "-o", out, "--tile=off", "--offload=on").Decode, plan("decode"))
	again := run("roundtrip", clip, "-o", filepath.Join(dir, "again.npy"), "--tile=off", "--offload=on")
	told("roundtrip's encode", again.Encode, plan("encode"))
	told("roundtrip's decode", again.Decode, plan("decode"))
	off := run("decode", z, "-o", filepath.Join(dir, "off.npy"), "--tile=off").Decode
	assert.Zero(t, off.Host+off.Moved)

	text := succeed(t, "decode", z, "-m", tiny, "-o", filepath.Join(dir, "text.npy"), "--tile=auto", "--offload=on")
	assert.Regexp(t, `(?m)^decode: one tile, the largest within \S+ .iB, exact, with causal memory( and weights)? on the host$`, text.stderr)
	assert.Regexp(t, `(?m)^decoded .*, one tile, \S+ .iB of causal memory( and weights)? on the host, \S+ .iB moved$`, text.stdout)
}
