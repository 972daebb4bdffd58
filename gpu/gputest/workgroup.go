package gputest

import (
	"fmt"
	"strings"

	"tessera/gpu"
)

// workgroupPoison fills the device's workgroup memory with NaN, and writes one word of it
// for each invocation so that no compiler removes the rest.
const workgroupPoison = `
struct Params { first: vec4<u32>, }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
var<workgroup> words: array<u32, WORDS>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    for (var i = local; i < WORDS; i += 64u) { words[i] = POISON; }
    workgroupBarrier();
    y[64u * (workgroup.x + params.first.x) + local] = words[(local * 67u) % WORDS];
}`

// poisonGroups is more workgroups than a driver for processors has threads.
const poisonGroups = 64

// poisonProgram returns workgroupPoison for a device.
func poisonProgram(dev *gpu.Device) *gpu.Program {
	return &gpu.Program{
		Label: "poison",
		Source: strings.NewReplacer(
			"WORDS", fmt.Sprintf("%du", dev.Info().Limits.MaxWorkgroupMemory/4),
			"POISON", fmt.Sprintf("%#xu", poisonBits<<16|poisonBits),
		).Replace(workgroupPoison),
		Storage: []gpu.Access{gpu.ReadWrite},
	}
}

// WithPoison returns commands in which every dispatch that has workgroup memory finds it
// full of NaN. The device does not clear it: kernels must write what they read.
func WithPoison(dev *gpu.Device, commands []gpu.Command) (_ []gpu.Command, scratch *gpu.Buffer) {
	poison := &gpu.Batch{}
	scratch = &gpu.Buffer{Label: "poison", Size: 4 * 64 * poisonGroups}
	type params struct{ First gpu.First }
	poison.Dispatch("poison", poisonProgram(dev), [3]uint32{poisonGroups, 1, 1}, params{}, gpu.Cost{Bytes: scratch.Size}, scratch.All())
	var list []gpu.Command
	for _, c := range commands {
		if c.Program != nil && strings.Contains(c.Program.Source, "var<workgroup>") {
			list = append(list, poison.Commands...)
		}
		list = append(list, c)
	}
	return list, scratch
}
