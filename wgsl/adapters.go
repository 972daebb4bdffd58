package wgsl

import (
	"strconv"
	"strings"

	"tessera/gpu"
)

// What the table's rows ask of an adapter: what it must have to run a kernel (needs), and
// where a kernel is quicker than those in front of it (better). Each says what it relies
// on, and where that was measured. Nothing else looks at names of adapters and drivers.
// What sizes of subgroup matrices ask for stands with them (cards_matrix.go).

// subgroupsOf8 says whether an adapter's subgroups are of eight, as those of a processor
// that computes with vectors of 256 bits. There loads of vec4s from where each
// invocation says are slow, and what is broadcast costs nothing
// (docs/performance.md#processors).
func subgroupsOf8(info gpu.Info) bool { return subgroups(info, 8) }

// subgroupsOf4 says whether they are of four, as SwiftShader's, natively and in Chromium
// (docs/performance.md#browser).
func subgroupsOf4(info gpu.Info) bool { return subgroups(info, 4) }

func subgroups(info gpu.Info, of int) bool {
	return info.Subgroups && info.SubgroupMin == of && info.SubgroupMax == of
}

// isLlvmpipe says whether an adapter is Mesa's driver for processors, where sums are
// memory anyway (docs/performance.md#processors).
func isLlvmpipe(info gpu.Info) bool { return strings.HasPrefix(info.Name, "llvmpipe") }

// mesaBefore26 says whether an adapter is Mesa's driver for processors before 26, which
// loads one invocation after the other from where it can't see to be the same for all
// (docs/performance.md#processors).
func mesaBefore26(info gpu.Info) bool {
	_, mesa, _ := strings.Cut(info.Driver, "Mesa ")
	major, _, _ := strings.Cut(mesa, ".")
	version, err := strconv.Atoi(major)
	return subgroupsOf8(info) && (err != nil || version < 26)
}

// mesaFrom26 says whether an adapter is Mesa's driver for processors from 26 on, which sees
// loads of weights to be the same for all (docs/performance.md#processors).
func mesaFrom26(info gpu.Info) bool { return isLlvmpipe(info) && !mesaBefore26(info) }

// mesaFrom26Of8 says whether an adapter is Mesa's driver for processors from 26 on, with
// subgroups of eight, which shuffle for nothing (docs/performance.md#processors).
func mesaFrom26Of8(info gpu.Info) bool { return subgroupsOf8(info) && mesaFrom26(info) }

// onProcessor says whether an adapter is the processor, whose drivers leave an invocation at
// each barrier (docs/performance.md#browser).
func onProcessor(info gpu.Info) bool { return info.Type == "cpu" }

// isNVIDIA says whether an adapter is NVIDIA's, where addresses and bounds cost
// instructions of their own (docs/benchmarks/isa.md).
func isNVIDIA(info gpu.Info) bool { return info.Vendor == "nvidia" }

// isAMD says whether an adapter is AMD's, whose compiler keeps two products' sums in
// registers, but not four (docs/performance.md#cards).
func isAMD(info gpu.Info) bool { return info.Vendor == "amd" }

// computesF16 says whether an adapter has arithmetic of halves. Drivers for processors, which list
// it, compute it in f32, and compile for seconds.
func computesF16(info gpu.Info) bool { return info.F16 && !onProcessor(info) }
