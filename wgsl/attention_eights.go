//go:build !js

package wgsl

import (
	_ "embed"

	"tessera/gpu"
)

// Attention whose subgroups of eight load keys and values together. They are for Mesa's
// drivers for processors, which no browser has.
var (
	//go:embed attention_scores_eights.wgsl
	attentionScoresEightsText string
	//go:embed attention_values_eights.wgsl
	attentionValuesEightsText string
	//go:embed shared/eights.wgsl
	sharedEightsText string
)

// attentionEightsKernels are alike but for how many blocks of keys and channels are made
// of each load. Of four Mesa 25 leaves the loop over them a loop, and looks sums up.
var attentionEightsKernels = []kernel{
	attentionEights("tall", 4, eights),
	attentionEights("broadcast", 3, looping),
}

func attentionEights(name string, tall int, better func(gpu.Info) bool) kernel {
	return kernel{
		name: name, needs: eights, better: better,
		shaders: []shader{
			{file: "attention_scores_eights", wg: 64, pixels: 4, block: keyBlock, tall: tall, grid: tallBlockGrid},
			{file: "attention_softmax", wg: 64, grid: frameGrid},
			{file: "attention_values_eights", wg: 64, pixels: 4, block: 8, tall: tall, grid: tallBlockGrid},
		},
	}
}

// tallBlockGrid is blockGrid for several blocks of an invocation.
func tallBlockGrid(h *shader, e extent) [3]uint32 {
	return [3]uint32{groups(e.W, h.pixels*h.wg), groups(4*e.C4, h.deep()), 1}
}
