// pointwise_narrow: pointwise.wgsl in the adapter's smallest subgroups, for Intel's cards
//
// Bindings and Params are those of pointwise.wgsl. A workgroup makes WG*PIXELS pixels in
// one block, as in conv3d_narrow.wgsl. Sums are f32. Reference: ref/conv3d.go. WG,
// PIXELS and BLOCK are in kernels.go. Grid: (P/PIXELS / WG, C_out/BLOCK, frames).

#import tile
#import elem
#import pointwise_params
#import cards/narrow

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight8>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

// tap{k} adds the products of temporal tap {k}, with matrices from w on. Dawn counts the
// iterations of a loop unless its bound is constant.
#unroll k 3
fn tap{k}(sums: ptr<function, Sums>, at: ptr<function, array<u32, PIXELS>>, w: u32, local: u32) {
    for (var c = 0u; c < params.C_in4; c += DEPTH) {
        workgroupBarrier();
        stage(w + c, local);
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d++) {
            if c + d >= params.C_in4 { break; }
            let m = matrices[d][0];
#unroll p PIXELS
            add(sums, {p}u, load4(x{k}[params.x{k}_at + c + d + (*at)[{p}]]), m);
#end
        }
    }
}
#end

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let p0 = mine.segment * PIXELS;
    let f = group.z;

    var sums = Sums();
    start(&sums, mine.block);
    var at = array<u32, PIXELS>();
#unroll p PIXELS
    at[{p}] = f * params.x_stride + min(p0 + {p}u, params.P - 1u) * params.C_in4;
#end
    let w = (params.weight_at + mine.block * params.weight_stride) / 8u;
#unroll k 3
    if KT > {k}u { tap{k}(&sums, &at, w + {k}u * params.C_in4, local); }
#end
    if p0 < params.P {
        store(&sums, f, p0, params.P, mine.block);
    }
}
