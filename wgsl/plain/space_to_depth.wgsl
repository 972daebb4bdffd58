// space_to_depth: y[t,r,s,o] = 1/G * sum_i e[(o*G + i) % (F*C_in)]  (+ y[t,r,s,o]), F = FT*FS*FS
//
// e are the numbers of the output pixel's block, channel fastest: e[((dt*FS + dh)*FS +
// dw)*C_in + c] = x[FT*t + dt, y0 + FS*r + dh, x0 + FS*s + dw, c].
//
//   x  [T*FT, H_in, W_in, C_in]  elem  read        from x_at (vec4s) on
//   y  [T, H, W, C_out]          elem  read_write  from y_at on; aliases nothing; with
//                                                  ACCUMULATE it holds the residual
//
// One invocation makes four channels of a pixel. With KEYS4 they are a vec4 of x, read
// at once. Sums are f32. Reference: ref/space_to_depth.go. Grid: (W * C_out/4 / WG, H,
// T). WG is in kernels.go.

#import tile
#import elem
#import pick

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    C_in: u32,
    H: u32,
    W: u32,
    C_out: u32,
    y0: u32,
    x0: u32,
    x_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

override FT: u32 = 1;
override FS: u32 = 2;
override G: u32 = 1;
override KEYS4: bool = false; // G is 1 and C_in a multiple of 4
override ACCUMULATE: bool = false;

override F: u32 = FT * FS * FS;

// pixel returns the start of the pixel of x that number e is a channel of.
fn pixel(e: u32, t: u32, row: u32, column: u32) -> u32 {
    let k = e / params.C_in;
    let at = ((t * FT + k / (FS * FS)) * params.H_in + row + k / FS % FS) * params.W_in + column + k % FS;
    return params.x_at + at * ((params.C_in + 3u) / 4u);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    let C_out4 = (params.C_out + 3u) / 4u;
    if i >= params.W * C_out4 { return; }
    let o = i % C_out4 * 4u;
    let row = params.y0 + group.y * FS;
    let column = params.x0 + i / C_out4 * FS;
    let all = F * params.C_in;

    var v = vec4<f32>();
    if KEYS4 {
        let e = o % all;
        v = load4(x[pixel(e, group.z, row, column) + e % params.C_in / 4u]);
    } else {
#loop k 4 && o + {k} < params.C_out
        for (var n = 0u; n < G; n++) {
            let e = ((o + {k}) * G + n) % all;
            let c = e % params.C_in;
            v[{k}] += pick(load4(x[pixel(e, group.z, row, column) + c / 4u]), c % 4u);
        }
#end
        v /= f32(G);
    }
    let at = params.y_at + (group.z * params.H + group.y) * params.W * C_out4 + i;
    if ACCUMULATE {
        v += load4(y[at]);
    }
    y[at] = store4(v);
}
