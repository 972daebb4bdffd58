//go:build !js

package wgsl_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/tune"
	"tessera/wgsl"
)

// A job does not use a kernel with one wrong text, even if its other texts are right:
// neither if the kernel came first, nor if the job's plan got that text after the
// kernel was chosen.
func TestWrongText(t *testing.T) {
	b := newTrials(t)
	main, err := os.ReadFile("processors/conv3d_main.wgsl")
	require.NoError(t, err)
	text := "#import tile\n#import elem\n#import weight\n#import conv3d_params\n#import processors/weights_invocation\n#import processors/multiply_loops\n#import processors/load_row_unrolled\n" + string(main)
	texts := wgsl.Variant{Text: text, Name: "texts", WG: 64, Pixels: 4, Blocks: 2, Better: true, Old: "if real {", New: "if real && BLOCKS > 1u {"} // with one block it stores nothing
	workload := func(blocks int) map[wgsl.Workload]int64 {
		d := wgsl.Workload{Class: wgsl.Class{Operation: "conv3d", In: 16, Out: 32}, Taps: 1, Kernel: "texts", Specialisation: wgsl.Specialisation{Blocks: blocks, Pixels: 4}}
		return map[wgsl.Workload]int64{d: 1}
	}
	sets := wgsl.WithVariants(t, plain, texts)
	set, err := sets(wgsl.F32, b.dev.Info(), nil)
	require.NoError(t, err)
	tuner := tune.Tuner{Sets: sets, Off: true}
	for _, c := range []struct {
		blocks       int
		chosen, want wgsl.Choices
	}{
		{2, nil, wgsl.Choices{}},
		{3, nil, wgsl.Choices{}},
		{1, wgsl.Choices{"conv3d 16→32": "texts"}, wgsl.Choices{"conv3d": "plain"}},
		{2, nil, wgsl.Choices{"conv3d": "plain"}},
	} {
		choices, err := tuner.Choose(t.Context(), b.dev, set, workload(c.blocks), c.chosen)
		require.NoError(t, err)
		require.Equal(t, c.want, choices, "%d blocks", c.blocks)
	}
	choices, err := (&tune.Tuner{Sets: sets, Off: true, NoCache: true}).Choose(t.Context(), b.dev, set, workload(1), nil)
	require.NoError(t, err)
	require.Equal(t, wgsl.Choices{"conv3d": "plain"}, choices, "first of all")
	known, err := tuner.Known(b.dev.Info())
	require.NoError(t, err)
	require.Len(t, known.Verifications, 3)
	require.Regexp(t, `^conv3d texts in f32, 1 tap, 1 block of 4 pixels: disagrees with the reference`, known.Verifications[2].String())
}
