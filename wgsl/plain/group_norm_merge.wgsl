// group_norm_merge: merges the chunks' moments into the factors for group_norm_apply,
// for every frame and channel
//
//   x         [T, P, C]       elem  read        from x_at (vec4s) on; only the pivots are read
//   partials  [T, G, chunks]  vec2  read        of group_norm_partial
//   gamma     [C]             f32   read
//   beta      [C]             f32   read
//   factors   [frames, 3, C]  f32   read_write  from `frame` on: pivot, scale, shift; 0 in padding channels
//
//   scale = gamma / sqrt(variance + eps), shift = beta - (mean - pivot)*scale
//
// One workgroup per group and frame: first the mean of all chunks, then squared
// deviations from it. Reference: ref/group_norm.go. Grid: (G, T). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    P: u32,
    C: u32,
    C4: u32,
    G: u32,
    size: u32,
    chunk: u32,
    chunks: u32,
    x_at: u32,
    frame: u32,
    eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read> partials: array<vec2<f32>>;
@group(0) @binding(3) var<storage, read> gamma: array<f32>;
@group(0) @binding(4) var<storage, read> beta: array<f32>;
@group(0) @binding(5) var<storage, read_write> factors: array<f32>;

var<workgroup> sums: array<f32, WG>;
var<workgroup> squares: array<f32, WG>;

// pixels returns the number of pixels of a chunk; the last chunk may be shorter.
fn pixels(chunk: u32) -> f32 {
    return f32(min(params.chunk, params.P - chunk * params.chunk));
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let g = group.x;
    let t = group.y;
    let kept = params.frame + t;
    let at = (t * params.G + g) * params.chunks;

    var sum = 0.0;
    for (var i = local; i < params.chunks; i += WG) {
        sum += pixels(i) * partials[at + i].x;
    }
    sums[local] = sum;
    workgroupBarrier();
    var mean = 0.0;
    for (var i = 0u; i < WG; i++) { mean += sums[i]; }
    mean /= f32(params.P);

    var m2 = 0.0;
    for (var i = local; i < params.chunks; i += WG) {
        let d = partials[at + i].x - mean;
        m2 += partials[at + i].y + pixels(i) * f32(params.size) * d * d;
    }
    squares[local] = m2;
    workgroupBarrier();
    var variance = 0.0;
    for (var i = 0u; i < WG; i++) { variance += squares[i]; }
    variance /= f32(params.P) * f32(params.size);

    let C_pad = 4u * params.C4;
    let c_first = g * params.size;
    let pivot = load4(x[params.x_at + t * params.P * params.C4 + c_first / 4u])[c_first % 4u];
    for (var c = c_first + local; c < c_first + params.size; c += WG) {
        let scale = gamma[c] / sqrt(variance + params.eps);
        factors[3u * kept * C_pad + c] = pivot;
        factors[(3u * kept + 1u) * C_pad + c] = scale;
        factors[(3u * kept + 2u) * C_pad + c] = beta[c] - mean * scale;
    }
    if g == params.G - 1u {
        for (var c = params.C + local; c < C_pad; c += WG) {
            factors[3u * kept * C_pad + c] = 0.0;
            factors[(3u * kept + 1u) * C_pad + c] = 0.0;
            factors[(3u * kept + 2u) * C_pad + c] = 0.0;
        }
    }
}
