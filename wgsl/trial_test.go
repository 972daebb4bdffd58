//go:build !js

package wgsl_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tune"
	"tessera/wgsl"
)

// Kernels to try: two right ones, one of them slow, because a workgroup has one
// invocation that computes one pixel; one that reads every other pixel; and one that
// compilers reject.
var (
	plain     = wgsl.Variant{Name: "plain", WG: 64, Pixels: 8}
	quick     = wgsl.Variant{Name: "quick", WG: 64, Pixels: 8}
	slow      = wgsl.Variant{Name: "slow", WG: 1, Pixels: 1}
	slowPlain = wgsl.Variant{Name: "plain", WG: 1, Pixels: 1}
	wrong     = wgsl.Variant{Name: "wrong", Stride: 2, WG: 64, Pixels: 8}
	alien     = wgsl.Variant{Name: "alien", Old: "#import conv3d", New: "const PIXEL: u32 = 1.5;", WG: 64, Pixels: 8}
)

// work is a job that is worth a trial.
var work = map[wgsl.Workload]int64{{Class: wgsl.Class{Operation: "conv3d", In: 16, Out: 16}, Taps: 1, Weight: wgsl.F32}: 1e12}

// trials starts the program several times on a device, with a separate cache folder.
type trials struct {
	*testing.T
	dev   *gpu.Device
	cache string
	said  []string
}

func newTrials(t *testing.T) *trials {
	b := &trials{T: t, dev: gputest.Open(t), cache: t.TempDir()}
	for _, name := range []string{"LocalAppData", "HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, b.cache)
	}
	return b
}

// choose returns what a start of the program chooses, and how often the device worked
// for that.
func (b *trials) choose(t tune.Tuner) (wgsl.Choices, int) {
	b.Helper()
	if t.Compile == 0 {
		t.Compile = time.Hour // even with a busy compiler
	}
	t.Patient, t.Say = true, func(text string) { b.said = append(b.said, text) }
	set, err := t.Sets(wgsl.F32, b.dev.Info(), nil)
	require.NoError(b, err)
	before := b.dev.Stats().Submissions
	choices, err := t.Choose(context.Background(), b.dev, set, work, nil)
	require.NoError(b, err)
	return choices, b.dev.Stats().Submissions - before
}

// A kernel that is wrong on this adapter, or that it can't compile, is never used,
// however fast. Both are named.
func TestWrongKernel(t *testing.T) {
	b := newTrials(t)
	tuner := tune.Tuner{Sets: wgsl.WithVariants(t, slowPlain, wrong, alien)}
	choices, _ := b.choose(tuner)
	require.Empty(t, choices)
	known, err := tuner.Known(b.dev.Info())
	require.NoError(t, err)
	require.Len(t, known.Verifications, 2)
	require.Regexp(t, `^conv3d wrong in f32, 1 tap: disagrees with the reference \(NMSE .*\), not used$`, known.Verifications[0].String())
	require.Regexp(t, `^conv3d alien in f32, 1 tap: does not run: .*, not used$`, known.Verifications[1].String())
	require.Len(t, known.Trials, 1)
	require.Equal(t, "plain", known.Trials[0].Kernel)
}

// A compiler that takes too long for a kernel ends its trial.
func TestSlowCompiler(t *testing.T) {
	b := newTrials(t)
	tuner := tune.Tuner{Sets: wgsl.WithVariants(t, slowPlain, quick), Compile: 1}
	choices, _ := b.choose(tuner)
	require.Empty(t, choices)
	known, err := tuner.Known(b.dev.Info())
	require.NoError(t, err)
	require.Equal(t, "conv3d quick in f32, 1 tap: does not compile within 1ns, not used", known.Verifications[0].String())
}

// The default kernel of this adapter is not used if it is wrong, however short the job
// and whatever is turned off.
func TestWrongDefault(t *testing.T) {
	b := newTrials(t)
	better := wrong
	better.Better = true
	choices, _ := b.choose(tune.Tuner{Sets: wgsl.WithVariants(t, plain, better), Off: true})
	require.Equal(t, wgsl.Choices{"conv3d": "plain"}, choices)
}

// A kernel is used if it is faster than the default, and not if it is slower. If trials
// are turned off, the default stays.
func TestQuickestKernel(t *testing.T) {
	b := newTrials(t)
	choices, _ := b.choose(tune.Tuner{Sets: wgsl.WithVariants(t, plain, slow)})
	require.Empty(t, choices)
	sets := wgsl.WithVariants(t, slowPlain, quick)
	choices, _ = b.choose(tune.Tuner{Sets: sets})
	require.Equal(t, wgsl.Choices{"conv3d 16→16": "quick"}, choices)
	for elem, want := range map[wgsl.Elem]wgsl.Choices{wgsl.F32: choices, wgsl.Packed: {}} {
		known, err := (&tune.Tuner{Sets: sets}).Chosen(b.dev.Info(), elem)
		require.NoError(t, err)
		require.Equal(t, want, known, "of any job in %v", elem)
	}
	choices, worked := b.choose(tune.Tuner{Sets: sets, Off: true})
	require.Empty(t, choices)
	require.Zero(t, worked)
}

// A long job without Patient still tries candidates one at a time, the likely ones
// first, however many kernels there are.
func TestManyKernels(t *testing.T) {
	b := newTrials(t)
	others := []wgsl.Variant{slowPlain}
	for _, name := range []string{"some", "more", "many", "most"} {
		others = append(others, wgsl.Variant{Name: name, WG: 1, Pixels: 1})
	}
	tuner := tune.Tuner{Sets: wgsl.WithVariants(t, append(others, quick)...), Compile: time.Hour}
	set, err := tuner.Sets(wgsl.F32, b.dev.Info(), nil)
	require.NoError(t, err)
	long := map[wgsl.Workload]int64{} // however slow the compiler
	for d := range work {
		long[d] = 1e16
	}
	starts := 1
	if b.dev.Info().Type != "cpu" { // a start spends at most three tenths of a second on trials
		starts = len(others)
	}
	var choices wgsl.Choices
	for range starts {
		choices, err = tuner.Choose(t.Context(), b.dev, set, long, nil)
		require.NoError(t, err)
	}
	require.Equal(t, wgsl.Choices{"conv3d 16→16": "quick"}, choices)
}

// A verification compiles only the kernel that it verifies.
func TestProofCompilesOne(t *testing.T) {
	b := newTrials(t)
	better := quick
	better.Better = true
	b.choose(tune.Tuner{Sets: wgsl.WithVariants(t, plain, better), Off: true})
	var compiled []string
	for label := range b.dev.Stats().Programs {
		compiled = append(compiled, label)
	}
	require.Equal(t, []string{"conv3d_test_quick_f32"}, compiled)
}

// The second start tries nothing and uses the same kernels. Results of another driver,
// and damaged ones, are ignored.
func TestTriedOnce(t *testing.T) {
	b := newTrials(t)
	sets := wgsl.WithVariants(t, slowPlain, quick)
	choices, worked := b.choose(tune.Tuner{Sets: sets})
	require.NotZero(t, worked)
	require.Equal(t, []string{"choosing kernels"}, b.said)
	again, worked := b.choose(tune.Tuner{Sets: sets})
	require.Zero(t, worked)
	require.Equal(t, choices, again)
	require.Len(t, b.said, 1)

	tuner := tune.Tuner{Sets: sets}
	other := b.dev.Info()
	other.Driver += ", a newer one"
	known, err := tuner.Known(other)
	require.NoError(t, err)
	require.Empty(t, known.Trials)

	require.NoError(t, filepath.WalkDir(b.cache, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.WriteFile(path, []byte("{damaged"), 0o600)
	}))
	_, worked = b.choose(tune.Tuner{Sets: sets}) // even if a busy machine makes something faster
	require.NotZero(t, worked)
}

// A job that ends before a trial would pay gets no trial.
func TestShortJob(t *testing.T) {
	b := newTrials(t)
	tuner := tune.Tuner{Sets: wgsl.WithVariants(t, slowPlain, quick)}
	set, err := tuner.Sets(wgsl.F32, b.dev.Info(), nil)
	require.NoError(t, err)
	short := map[wgsl.Workload]int64{}
	for d := range work {
		short[d] = 1e9
	}
	before := b.dev.Stats().Submissions
	choices, err := tuner.Choose(context.Background(), b.dev, set, short, nil)
	require.NoError(t, err)
	require.Empty(t, choices)
	require.Equal(t, before, b.dev.Stats().Submissions)
}
