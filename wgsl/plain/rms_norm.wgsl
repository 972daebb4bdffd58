// rms_norm: y_c = x_c / max(sqrt(|x|^2 + eps), 1e-12) * sqrt(C) * gamma_c, with |x|
// over a pixel's channels, then y*sigmoid(y) with SILU
//
//   x      [P, C]  elem  read        from x_at (vec4s) on; P = T*H*W pixels, 0 in padding channels;
//                                     IN_PLACE it is in y, from y_at on, and this is not read
//   gamma  [C]     f32   read        padded to a multiple of 4
//   y      [P, C]  elem  read_write  from y_at (vec4s) on; 0 in padding channels; may not alias what is bound as x
//
// LANES invocations share four pixels. Each sums the squares of every LANES-th column
// of them in f32, one pixel per component, and after the barrier adds up the sums of
// all lanes. x is read again for scaling, from the cache. Reference: ref/rms_norm.go.
// Grid: P / (PIXELS * WG/LANES). WG and PIXELS are in kernels.go.

#import tile
#import elem
#import silu

struct Params {
    first: vec4<u32>,
    P: u32,
    C4: u32,     // C/4, rounded up
    root: f32,   // sqrt(C)
    eps: f32,    // C times what is added to the mean of squares
    x_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read> gamma: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<elem4>;

override LANES: u32 = 8; // divides WG
override SILU: bool = false;
override IN_PLACE: bool = false;

const_assert PIXELS == 4u; // pixels are components of vectors

var<workgroup> partials: array<vec4<f32>, WG>;

fn loaded(at: u32) -> vec4<f32> {
    if IN_PLACE { return load4(y[params.y_at + at]); }
    return load4(x[params.x_at + at]);
}

fn result(v: vec4<f32>) -> elem4 {
    if SILU {
        return store4(silu(v));
    }
    return store4(v);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let rows = WG / LANES;
    let lane = local % LANES;
    let p = vec4<u32>(group.x * rows * PIXELS + local / LANES) + vec4<u32>(0u, rows, 2u * rows, 3u * rows);
    let inside = p < vec4<u32>(params.P);
    let pixel = min(p, vec4<u32>(params.P - 1u)) * params.C4;

    var squares = vec4<f32>();
    for (var c = lane; c < params.C4; c += LANES) {
        let a = loaded(pixel.x + c);
        let b = loaded(pixel.y + c);
        let d = loaded(pixel.z + c);
        let e = loaded(pixel.w + c);
        squares += vec4<f32>(dot(a, a), dot(b, b), dot(d, d), dot(e, e));
    }
    partials[local] = squares;
    workgroupBarrier();

    squares = vec4<f32>();
    for (var k = 0u; k < LANES; k++) {
        squares += partials[local - lane + k];
    }
    let scale = params.root / max(sqrt(squares + params.eps), vec4<f32>(1e-12));
    let y_pixel = params.y_at + pixel;
    for (var c = lane; c < params.C4; c += LANES) {
        let g = gamma[c];
        if inside.x { y[y_pixel.x + c] = result(loaded(pixel.x + c) * scale.x * g); }
        if inside.y { y[y_pixel.y + c] = result(loaded(pixel.y + c) * scale.y * g); }
        if inside.z { y[y_pixel.z + c] = result(loaded(pixel.z + c) * scale.z * g); }
        if inside.w { y[y_pixel.w + c] = result(loaded(pixel.w + c) * scale.w * g); }
    }
}
