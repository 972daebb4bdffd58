package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/tiling"
	"tessera/vae"
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

// Where a job is too large for the device, --offload on is named if that has it, and
// nothing is that would not help.
func TestHintsOfMemory(t *testing.T) {
	args := []string{"plan", "-m", "seedvr2", "--frames=21", "--size=256x192", "--tile=off"}
	least := func(offload string) int64 { return planJSON(t, append(args[1:], "--least", offload)...).Peak }
	on, off := least("--offload=on"), least("--offload=off")
	refusal := func(args ...string) string {
		o := tesseraEnv(t, noDevice, append(args, "--offload=off")...)
		require.Equal(t, job.ExitMemory, o.code, o.stdout+o.stderr)
		return o.stderr
	}
	assert.Regexp(t, `needs .* on the device, the budget is .* \(--offload on has it, with \S+ MiB on the device and \S+ .iB on the host, --tile auto .*, --memory sets the budget\)`,
		refusal(append(args, fmt.Sprintf("--memory=%d", (on+off)/2))...))
	assert.NotContains(t, refusal(append(args, fmt.Sprintf("--memory=%d", on/2))...), "--offload on")

	full := fmt.Errorf("vae: what the decoder keeps: %w", vae.ErrHost)
	none := func(vae.Options) (*vae.Plan, error) { panic("planned once more") }
	assert.EqualError(t, unplanned(full, vae.Options{Offload: vae.OffloadOn}, none), full.Error()+
		" (a smaller --tile takes less, --memory-format i8 takes about half, --offload off takes none, with tiles that fit the device, other programs that end leave more)")
	assert.EqualError(t, unplanned(full, vae.Options{Tile: tiling.Choice{Auto: true}, MemoryFormat: vae.MemoryI8}, none), full.Error()+
		" (--offload off takes none, with tiles that fit the device, other programs that end leave more)")
}
