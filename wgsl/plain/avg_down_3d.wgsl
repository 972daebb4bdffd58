// avg_down_3d: y[t,r,s,o] = 1/G * sum_j e[o*G + j]  (+ y[t,r,s,o]), G = C_in*F/C_out, F = FT*FS*FS
//
// e are the numbers of the output pixel's block, channel slowest: e[c*F + (dt*FS +
// dh)*FS + dw] = x[FT*t + dt, y0 + FS*r + dh, x0 + FS*s + dw, c].
//
//   x  [frames, H_in, W_in, C_in]  elem  read        from x_at (vec4s) on; 0 in padding channels
//   y  [T, H, W, C_out]            elem  read_write  from y_at on; aliases nothing; with
//                                                    ACCUMULATE it holds the residual
//
// `lead` frames precede x: zeros, or copies of its first frame with REPEAT. One
// invocation makes four channels of a pixel: it reads the vec4s with any of their 4*G
// numbers once, and distributes their numbers by o. Sums are f32. Reference:
// ref/avg_down_3d.go. Grid: (W * C_out/4 / WG, H, T). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    C_in4: u32,
    H: u32,
    W: u32,
    C_out4: u32,
    y0: u32,
    x0: u32,
    lead: u32,
    x_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

override FT: u32 = 1;
override FS: u32 = 2;
override G: u32 = 4;
override ACCUMULATE: bool = false;
override REPEAT: bool = false;

override F: u32 = FT * FS * FS;

// sum_of sums the components of v whose output channel is k.
fn sum_of(v: vec4<f32>, o: vec4<u32>, k: u32) -> f32 {
    return dot(select(vec4<f32>(), v, o == vec4<u32>(k)), vec4<f32>(1.0));
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.W * params.C_out4 { return; }
    let o0 = i % params.C_out4 * 4u;
    let column = params.x0 + i / params.C_out4 * FS;
    let row = params.y0 + group.y * FS;
    let begin = o0 * G / F / 4u;
    let end = min(((o0 + 4u) * G - 1u) / F / 4u + 1u, params.C_in4);

    var sums = vec4<f32>();
    for (var k = 0u; k < F; k++) {
        let t = group.z * FT + k / (FS * FS);
        if t < params.lead && !REPEAT { continue; }
        let r = row + k / FS % FS;
        let s = column + k % FS;
        let pixel = params.x_at + (((max(t, params.lead) - params.lead) * params.H_in + r) * params.W_in + s) * params.C_in4;
        for (var c = begin; c < end; c++) {
            let v = load4(x[pixel + c]);
            let e = (vec4<u32>(4u * c) + vec4<u32>(0u, 1u, 2u, 3u)) * F + k;
            let o = e / G - o0; // wraps far beyond 3 for channels before o0
            sums += vec4<f32>(sum_of(v, o, 0u), sum_of(v, o, 1u), sum_of(v, o, 2u), sum_of(v, o, 3u));
        }
    }
    sums /= f32(G);
    let at = params.y_at + (group.z * params.H + group.y) * params.W * params.C_out4 + i;
    if ACCUMULATE {
        sums += load4(y[at]);
    }
    y[at] = store4(sums);
}
