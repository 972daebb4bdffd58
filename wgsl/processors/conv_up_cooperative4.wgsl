// conv_up_cooperative4: conv_up.wgsl with weights loaded by a subgroup together
//
// Bindings and Params are those of conv_up.wgsl; output channels are in BLOCKS blocks.
// A subgroup of four loads its common weights once. Loops are unrolled in the text,
// because SwiftShader unrolls none. Sums are f32. Reference: ref/conv_up.go. WG,
// PIXELS, BLOCK and BLOCKS are in kernels.go.

#import tile
#import elem
#import weight
#import conv_up_params
#import processors/weights_subgroup4
#import processors/multiply_unrolled
#import processors/load_row_loop
#import processors/conv_up_parity
#import processors/taps

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight4>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let to = spot(mine.segment, mine.block);
    let real = mine.segment < params.segments && to.phase < 4u * params.Z && to.r < params.H && to.pixel < to.end;
    if !TOGETHER && !real { return; }
    ready();
    let f = group.z;

    var column = columns(to.column);
    var sums = Sums();
    if !accumulates() {
        start(&sums, to.block);
        add_cells(&sums, &column, to);
    }
    taps(&sums, &column, to.row, f, to.block);
    let at = (f * params.Z + to.phase / 4u) * params.y_stride + (to.r * params.W + to.s0) * params.C_out4;
    if real {
        store(&sums, at, to.pixel, to.end, to.block % params.blocks);
    }
}
