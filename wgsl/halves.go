//go:build !js

package wgsl

import (
	_ "embed"

	"tessera/gpu"
)

// Kernels that multiply halves in pairs, for cards whose matrices can't be had. They
// are other kernels' texts with another multiply(), which a page's engine has no room
// for.
var (
	//go:embed shared/multiply_halves.wgsl
	sharedMultiplyHalvesText string
	//go:embed shared/points_halves.wgsl
	sharedPointsHalvesText string
	//go:embed shared/sources_halves.wgsl
	sharedSourcesHalvesText string
	//go:embed shared/staged_halves.wgsl
	sharedStagedHalvesText string
	//go:embed shared/under_halves.wgsl
	sharedUnderHalvesText string
	//go:embed shared/weights_halves.wgsl
	sharedWeightsHalvesText string
)

// halvesKernels are those like an operation's plain kernel and, where there is one, its
// staged kernel.
func halvesKernels(like []kernel) []kernel {
	var all []kernel
	for _, k := range like {
		h := k.shaders[0]
		h.halved = true
		switch k.name {
		case "plain":
			all = append(all, kernel{name: "halves", packing: k.packing, halves: true, needs: card, shaders: []shader{h}})
		case "staged":
			all = append(all, kernel{name: "staged_halves", packing: stagedHalves4x8, takes: k.takes, halves: true, needs: card, shaders: []shader{h}})
		}
	}
	return all
}

// stagedHalves4x8 is staged4x8 of weights for these, since no two kernels that don't
// take all shapes share one.
var stagedHalves4x8 = blocked(4, 8)

// card says whether an adapter has arithmetic of halves. Drivers for processors, which list
// it, compute it in f32, and compile for seconds.
func card(info gpu.Info) bool { return info.F16 && !host(info) }
