package tune

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/wgsl"
)

func TestRecordTold(t *testing.T) {
	p := Verification{Operation: "conv3d", Kernel: "tiled", Storage: "f16", Weights: "packed", Verdict: "disagrees with the reference (NMSE 3e-02)"}
	require.Equal(t, "conv3d tiled in f16: disagrees with the reference (NMSE 3e-02), not used", p.String())
	p.Verdict = agrees
	require.Equal(t, "conv3d tiled in f16: agrees with the reference", p.String())
	k := Trial{Class: "conv3d 128→256", Taps: 3, Storage: "f32", Usual: "plain", Kernel: "tiled", GFLOPs: map[string]float64{"plain": 812.5, "tiled": 1024, "wide": 99}}
	require.Equal(t, "conv3d 128→256, 3 taps in f32: tiled, 1024 GFLOP/s (plain 812, wide 99)", k.String())
	k.Weights = "packed"
	require.Contains(t, k.String(), "3 taps in f32, weights in f16: tiled")
	require.Equal(t, "fold plain in f32, weights in f16: "+agrees, Verification{Operation: "fold", Kernel: "plain", Storage: "f32", Weights: "packed", Verdict: agrees}.String())
}

// A negative verdict stays, whatever another says. An unfinished one is replaced, and
// removed if the trial was interrupted.
func TestVerdicts(t *testing.T) {
	claim := Verification{Operation: "conv3d", Kernel: "tiled", Storage: "f16", Weights: "packed"}
	say := func(r *Record, verdict string) string {
		p := claim
		p.Verdict = verdict
		r.add(Record{Verifications: []Verification{p}})
		require.Len(t, r.Verifications, 1)
		return r.Verifications[0].Verdict
	}
	r := &Record{}
	require.Equal(t, unfinished, say(r, unfinished))
	require.False(t, r.verification(claim).Agrees())
	require.Equal(t, agrees, say(r, agrees))
	require.Equal(t, "no", say(r, "no"))
	require.Equal(t, "no", say(r, agrees))
	r.forget(claim)
	require.Len(t, r.Verifications, 1)

	r = &Record{}
	say(r, unfinished)
	r.forget(claim)
	require.Empty(t, r.Verifications)
}

// A class has one kernel: the best for most of its work.
func TestDuties(t *testing.T) {
	narrow, wide := wgsl.Class{Operation: "conv3d", In: 16, Out: 16}, wgsl.Class{Operation: "conv3d", In: 256, Out: 256}
	got := workloads(map[wgsl.Workload]int64{
		{Class: narrow, Taps: 3}: 50, {Class: wide, Taps: 1}: 10, {Class: wide, Taps: 3}: 30, {Class: wide, Taps: 2}: 30,
	})
	require.Equal(t, []workload{{wgsl.Workload{Class: wide, Taps: 2}, 70}, {wgsl.Workload{Class: narrow, Taps: 3}, 50}}, got)
}

// A kernel that is hardly faster than the usual one is not used; a processor requires
// more than a card.
func TestQuickest(t *testing.T) {
	for _, c := range []struct {
		name            string
		plain, tiled    float64
		card, processor string
	}{
		{"slower", 100, 90, "plain", "plain"},
		{"hardly quicker", 100, 104, "plain", "plain"},
		{"quicker", 100, 120, "tiled", "plain"},
		{"much quicker", 100, 150, "tiled", "tiled"},
	} {
		trial := Trial{Usual: "plain", GFLOPs: map[string]float64{"plain": c.plain, "tiled": c.tiled}}
		require.Equal(t, c.card, trial.quickest([]string{"plain", "tiled"}, margin), c.name)
		require.Equal(t, c.processor, trial.quickest([]string{"plain", "tiled"}, cpuMargin), c.name)
		require.Equal(t, "plain", trial.quickest([]string{"plain"}, margin), c.name)
	}
}

// A tuner waits for a trial that another process is running. If that process is gone,
// the trial did not end.
func TestTrialsOfOthers(t *testing.T) {
	for _, name := range []string{"XDG_CACHE_HOME", "LocalAppData", "HOME"} {
		t.Setenv(name, t.TempDir())
	}
	info := adapters["card"]
	usual, err := wgsl.NewSet(wgsl.F32, info, nil)
	require.NoError(t, err)
	c := &chooser{Tuner: &Tuner{found: map[string]Record{}}, ctx: t.Context(), info: info, usual: usual}
	claims := []Verification{{Operation: "conv3d", Kernel: "tiled", Storage: "f32", Weights: "f32"}}
	for _, verdict := range []string{agrees, unfinished} {
		release, err := gpu.LockResults(t.Context())
		require.NoError(t, err)
		storeRecord(info, usual, Record{Verifications: withVerdict(claims, unfinished)})
		seen := make(chan Record)
		go func() { seen <- c.loadSettled() }()
		select {
		case r := <-seen:
			assert.Fail(t, "not waited for", "%v", r)
		case <-time.After(100 * time.Millisecond):
		}
		storeRecord(info, usual, Record{Verifications: withVerdict(claims, verdict)})
		release()
		require.Equal(t, withVerdict(claims, verdict), (<-seen).Verifications)
	}
}
