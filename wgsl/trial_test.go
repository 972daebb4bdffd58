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

// Kernels to try: right ones, of which one is slow, since a workgroup has one
// invocation that makes one pixel; one that reads every other pixel; and one
// that no compiler takes.
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

// trials are starts of the program on a device, with a cache folder of their own.
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

// choose is what a start of the program chooses, and how often the device worked
// for that.
func (b *trials) choose(t tune.Tuner) (wgsl.Choices, int) {
	b.Helper()
	if t.Compile == 0 {
		t.Compile = time.Hour // with a busy compiler, too
	}
	t.Patient, t.Say = true, func(text string) { b.said = append(b.said, text) }
	set, err := t.Sets(wgsl.F32, b.dev.Info(), nil)
	require.NoError(b, err)
	before := b.dev.Stats().Submissions
	choices, err := t.Choose(context.Background(), b.dev, set, work, nil)
	require.NoError(b, err)
	return choices, b.dev.Stats().Submissions - before
}

// A kernel that is wrong on this adapter is never taken, however quick, nor one
// that it can't compile. Both are named.
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

// A kernel that comes first on this adapter and is wrong there is not taken,
// however short the job and whatever is turned off.
func TestWrongDefault(t *testing.T) {
	b := newTrials(t)
	better := wrong
	better.Better = true
	choices, _ := b.choose(tune.Tuner{Sets: wgsl.WithVariants(t, plain, better), Off: true})
	require.Equal(t, wgsl.Choices{"conv3d": "plain"}, choices)
}

// What is quicker than the kernel that comes first is taken, what is slower is
// not. Nothing is where trials are turned off.
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

// A long job tries what may be quicker however many kernels there are, without
// patience: a kernel at a time, those first that have a chance.
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
	if b.dev.Info().Type != "cpu" { // a start tries no longer than three tenths of a second
		starts = len(others)
	}
	var choices wgsl.Choices
	for range starts {
		choices, err = tuner.Choose(t.Context(), b.dev, set, long, nil)
		require.NoError(t, err)
	}
	require.Equal(t, wgsl.Choices{"conv3d 16→16": "quick"}, choices)
}

// A proof compiles the kernel that it is about, and no other to compare it with.
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

// The second start tries nothing and takes the same. What was found with another
// driver, or what was damaged, is not believed.
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
	_, worked = b.choose(tune.Tuner{Sets: sets}) // whatever a busy machine makes quicker
	require.NotZero(t, worked)
}

// A job that is over before a trial would pay is not worth one.
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
