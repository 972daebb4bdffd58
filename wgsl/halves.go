//go:build !js

package wgsl

import (
	_ "embed"

	"tessera/gpu"
)

// Kernels that multiply halves in pairs, for cards whose matrices can't be had. They
// are the plain kernels' texts with another multiply(), which a page's engine has no
// room for.
var (
	//go:embed shared/multiply_halves.wgsl
	sharedMultiplyHalvesText string
	//go:embed shared/points_halves.wgsl
	sharedPointsHalvesText string
	//go:embed shared/sources_halves.wgsl
	sharedSourcesHalvesText string
	//go:embed shared/under_halves.wgsl
	sharedUnderHalvesText string
	//go:embed shared/weights_halves.wgsl
	sharedWeightsHalvesText string
)

// halvesKernels are those of an operation whose plain kernel has a text.
func halvesKernels(plain kernel) []kernel {
	h := plain.shaders[0]
	h.halved = true
	return []kernel{{name: "halves", packing: plain.packing, halves: true, needs: card, shaders: []shader{h}}}
}

// card says whether an adapter has arithmetic of halves. Drivers for processors, which list
// it, compute it in f32, and compile for seconds.
func card(info gpu.Info) bool { return info.F16 && !host(info) }
