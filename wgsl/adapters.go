package wgsl

import (
	"strconv"
	"strings"

	"tessera/gpu"
)

// What the rows of the kernel table require of an adapter (needs), and where a kernel
// is faster than those before it (better). Each function says what it relies on and
// where that was measured. Only this file looks at names of adapters and drivers; the
// requirements of subgroup matrices are in cards_matrix.go.

// subgroupsOf8 reports whether subgroups have eight invocations, as on a processor with
// vectors of 256 bits. There, loading vec4s from an address per invocation is slow, and
// broadcasts are free (docs/performance.md#processors).
func subgroupsOf8(info gpu.Info) bool { return subgroups(info, 8) }

// subgroupsOf4 reports whether subgroups have four invocations, as with SwiftShader,
// natively and in Chromium (docs/performance.md#browser).
func subgroupsOf4(info gpu.Info) bool { return subgroups(info, 4) }

func subgroups(info gpu.Info, of int) bool {
	return info.Subgroups && info.SubgroupMin == of && info.SubgroupMax == of
}

// isLlvmpipe reports whether an adapter is Mesa's driver for processors. Its compiler
// keeps sums in memory in any case (docs/performance.md#processors).
func isLlvmpipe(info gpu.Info) bool { return strings.HasPrefix(info.Name, "llvmpipe") }

// mesaBefore26 reports whether an adapter is Mesa's driver for processors before
// version 26. It loads for one invocation after the other unless it detects that the
// address is subgroup-uniform (docs/performance.md#processors).
func mesaBefore26(info gpu.Info) bool {
	_, mesa, _ := strings.Cut(info.Driver, "Mesa ")
	major, _, _ := strings.Cut(mesa, ".")
	version, err := strconv.Atoi(major)
	return subgroupsOf8(info) && (err != nil || version < 26)
}

// mesaFrom26 reports whether an adapter is Mesa's driver for processors from version 26
// on. It detects that loads of weights are subgroup-uniform
// (docs/performance.md#processors).
func mesaFrom26(info gpu.Info) bool { return isLlvmpipe(info) && !mesaBefore26(info) }

// mesaFrom26Of8 reports whether an adapter is Mesa's driver for processors from version
// 26 on, with subgroups of eight. Its shuffles are free
// (docs/performance.md#processors).
func mesaFrom26Of8(info gpu.Info) bool { return subgroupsOf8(info) && mesaFrom26(info) }

// onProcessor reports whether an adapter is a processor. At each barrier, such drivers
// suspend an invocation and continue with the next
// (docs/performance.md#browser).
func onProcessor(info gpu.Info) bool { return info.Type == "cpu" }

// isNVIDIA reports whether an adapter is NVIDIA's, where addresses and bounds checks
// cost extra instructions (docs/benchmarks/isa.md).
func isNVIDIA(info gpu.Info) bool { return info.Vendor == "nvidia" }

// isAMD reports whether an adapter is AMD's. The compiler keeps the sums of two
// products in registers, but not of four
// (docs/performance.md#cards).
func isAMD(info gpu.Info) bool { return info.Vendor == "amd" }

// isAdreno reports whether an adapter is Qualcomm's, where sums of eight pixels take all
// registers (docs/benchmarks/isa.md).
func isAdreno(info gpu.Info) bool { return info.Vendor == "qualcomm" }

// computesF16 reports whether an adapter computes in f16. Drivers for processors offer
// f16, but compute it in f32, and compile for seconds. Through Direct3D 12, Dawn's bitcast
// of words to halves, which these kernels use, converts each half to f32 and back.
func computesF16(info gpu.Info) bool {
	return info.F16 && !onProcessor(info) && info.Backend != "d3d12"
}

// unrollsNothing reports whether an adapter's shaders are compiled by DXC, Microsoft's
// compiler for Direct3D 12 from shader model 6 on, which is the one with subgroups. It
// unrolls no loop, so arrays that loops index stay in memory, and Dawn has it fuse no
// product with a sum (docs/benchmarks/dxc.md). FXC, its predecessor, unrolls, and takes
// three times as long for texts without loops.
func unrollsNothing(info gpu.Info) bool { return info.Backend == "d3d12" && info.Subgroups }

// setsSubgroups reports whether a shader may set the size of its subgroups. Through
// Direct3D 12 Dawn reports a smallest size of 8 for some Intel drivers that take no less
// than 16 (its toggle d3d12_relax_min_subgroup_size_to_8).
func setsSubgroups(info gpu.Info) bool { return info.SubgroupSize && info.Backend != "d3d12" }

// choosesSubgroups reports whether an adapter is a card on which a shader may choose
// between sizes of subgroups.
func choosesSubgroups(info gpu.Info) bool {
	return setsSubgroups(info) && info.SubgroupMin < info.SubgroupMax && !onProcessor(info)
}

// isIntel reports whether an adapter is Intel's, through Vulkan, where a shader may
// choose the size of its subgroups. The invocations of a subgroup share 128 registers,
// and Dawn's default is twice the smallest size: then an invocation has 64 numbers, with
// the smallest it has 128 (docs/benchmarks/isa.md).
func isIntel(info gpu.Info) bool {
	return info.Vendor == "intel" && info.Backend == "vulkan" && choosesSubgroups(info)
}
