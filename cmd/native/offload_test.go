package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/report"
	"tessera/tiling"
	"tessera/vae"
)

// The result reports what lived on the host and how much was transferred, as planned;
// without --offload it has no such values.
func TestOffloadIsTold(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 9, 32, 32)
	z, out := filepath.Join(dir, "z.npy"), filepath.Join(dir, "o.npy")
	run := func(args ...string) report.Result {
		return succeedJSON(t, append(args, "-m", tiny, "--precision=f32")...)
	}
	told := func(name string, s *report.Stage, r planned) {
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

// If a job is too large for the device, the error suggests --offload on if that helps,
// and nothing that does not.
func TestHintsOfMemory(t *testing.T) {
	args := []string{"plan", "-m", "seedvr2", "--frames=21", "--size=256x192", "--tile=off"}
	least := func(offload string) int64 { return planJSON(t, append(args[1:], "--least", offload)...).Peak }
	on, off := least("--offload=on"), least("--offload=off")
	refusal := func(args ...string) string {
		o := tesseraEnv(t, noDevice, append(args, "--offload=off")...)
		require.Equal(t, job.ExitMemory, o.code, o.stdout+o.stderr)
		return o.stderr
	}
	assert.Regexp(t, `needs .* on the device, the budget is .* \(--offload on fits it, with \S+ MiB on the device and \S+ .iB on the host, --tile auto .*, --memory sets the budget\)`,
		refusal(append(args, fmt.Sprintf("--memory=%d", (on+off)/2))...))
	assert.NotContains(t, refusal(append(args, fmt.Sprintf("--memory=%d", on/2))...), "--offload on")

	full := fmt.Errorf("vae: what the decoder keeps: %w", vae.ErrHost)
	none := func(vae.Options) (*vae.Plan, error) { panic("planned once more") }
	assert.EqualError(t, machine.Unplanned(full, vae.Options{Offload: vae.OffloadOn}, none), full.Error()+
		" (a smaller --tile needs less, --memory-format i8 needs about half, --offload off needs none, with tiles that fit the device, --host-memory sets the limit, ending other programs frees some)")
	assert.EqualError(t, machine.Unplanned(full, vae.Options{Tile: tiling.Choice{Auto: true}, MemoryFormat: vae.MemoryI8, Host: 1}, none), full.Error()+
		" (--offload off needs none, with tiles that fit the device, --host-memory sets the limit)")
}

// --host-memory limits the memory on the host, in a plan and in a run. With a byte less
// than a plan needs, another one is made; without one, the job is refused with
// advice.
func TestHostMemoryFlag(t *testing.T) {
	args := []string{"plan", "-m", "seedvr2", "--frames=21", "--size=256x192", "--tile=off", "--offload=on"}
	host := planJSON(t, args[1:]...).Host
	bounded := func(bytes int64) []string {
		return append(args[:len(args):len(args)], fmt.Sprintf("--host-memory=%d", bytes))
	}
	r := planJSON(t, bounded(host)[1:]...)
	assert.Equal(t, []int64{host, host}, []int64{r.Host, r.HostFree})
	o := tesseraEnv(t, noDevice, bounded(host)...)
	assert.Contains(t, o.stdout, "at least: a run uses up to --host-memory, whatever is free\n")
	assert.Less(t, planJSON(t, bounded(host - 1)[1:]...).Host, host)
	o = tesseraEnv(t, noDevice, bounded(1<<20)...)
	assert.Equal(t, job.ExitMemory, o.code, o.stdout)
	assert.Regexp(t, `of host memory, the limit is .*--host-memory sets the limit\)`, o.stderr)

	needDevice(t)
	latent := latentFile(t, 16, 3, 4, 4)
	run := func(bound string) outcome {
		return tessera(t, "decode", "-m", tiny, latent, "-o", filepath.Join(t.TempDir(), "o.npy"), "--tile=off", "--offload=on", bound)
	}
	o = run("--host-memory=2KiB")
	assert.Equal(t, job.ExitMemory, o.code, o.stdout+o.stderr)
	assert.Contains(t, o.stderr, "of host memory, the limit is 2.0 KiB")
	o = run("--host-memory=1GiB")
	assert.Zero(t, o.code, o.stderr)
}
