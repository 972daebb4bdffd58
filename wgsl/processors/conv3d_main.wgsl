// The entry point of conv3d_cooperative.wgsl and conv3d_cooperative4.wgsl, which import
// how weights and pixels are loaded and multiplied.

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
    let block = mine.block;
    let real = mine.segment < params.segments && WIDE * block < params.C_out4;
    if !TOGETHER && !real { return; }
    ready();
    let segment = min(mine.segment, params.segments - 1u);
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = segment / per_row;
    let s = (segment % per_row) * PIXELS;
    let f = group.z;

    var sums = Sums();
    start(&sums, block);
    var column = columns(i32(STRIDE * s) + params.left);
    taps(&sums, &column, i32(STRIDE * r) + params.top, f, block);
    if real {
        store(&sums, f, r * params.W + s, (r + 1u) * params.W, block);
    }
}
