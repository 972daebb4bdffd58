// conv3d_columns: conv3d.wgsl in columns of pixels, for CPU drivers whose compiler detects subgroup-uniform addresses
//
// Bindings and Params are those of conv3d.wgsl. One invocation makes PIXELS pixels of a
// column in BLOCKS blocks of BLOCK output channels, see columns.wgsl.
//
// Sums are f32. Reference: ref/conv3d.go. Grid: (C_out/BLOCK/BLOCKS, columns, in rows
// padded to a multiple of 8, / WG, frames).

#import tile
#import elem
#import weight
#import conv3d_params
#import processors/weights_invocation
#import processors/columns_frames

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight4>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) own: u32) {
    let group = workgroup + params.first.xyz;
    let block = BLOCKS * group.x;
    let first = column(group.y, params.W);
    let r = first.x;
    let s = first.y + own;

    var sums = Sums();
    start(&sums, block);
    sweep(&sums, places(i32(STRIDE * r) + params.top, i32(STRIDE * first.y) + params.left, own), group.z * params.x_stride, block, own);
    for (var n = 0u; n < PIXELS * BLOCKS * WIDE; n++) { // a single store is faster to compile
        let p = n / (BLOCKS * WIDE);
        let h = n % (BLOCKS * WIDE);
        let o = block * WIDE + h;
        if r + p < params.H && s < params.W {
            put(sums[(h / WIDE * PIXELS + p) * WIDE + h % WIDE], place(group.z, (r + p) * params.W + s, o), o);
        }
    }
}
