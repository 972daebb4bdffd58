// depth_to_space: y[t*FT + dt, r, s, o] = x[t, (y0+r)/FS, (x0+s)/FS, (phase*STRIDE + o)/REP]  (+ y[...])
//
// phase = (dt*FS + dh)*FS + dw with the row phase dh = (y0+r) % FS and the column phase
// dw = (x0+s) % FS: channels of a phase are adjacent.
//
//   x  [T, H_in, W_in, C_in]   elem  read        from x_at (vec4s) on
//   y  [T*FT, H, W, C_out]     elem  read_write  from y_at on; aliases nothing; with
//                                                ACCUMULATE it holds the residual
//
// One invocation makes four channels of a pixel. With KEYS4 they are a vec4 of x, read
// at once. Reference: ref/depth_to_space.go. Grid: (W * C_out/4 / WG, H, T*FT). WG is
// in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    C_in4: u32,
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
override STRIDE: u32 = 4;
override REP: u32 = 1;
override KEYS4: bool = false; // REP is 1, and STRIDE a multiple of 4
override ACCUMULATE: bool = false;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    let C_out4 = (params.C_out + 3u) / 4u;
    if i >= params.W * C_out4 { return; }
    let o = i % C_out4 * 4u;
    let row = params.y0 + group.y;
    let column = params.x0 + i / C_out4;
    let phase = (group.z % FT * FS + row % FS) * FS + column % FS;
    let pixel = params.x_at + ((group.z / FT * params.H_in + row / FS) * params.W_in + column / FS) * params.C_in4;

    var v = vec4<f32>();
    if KEYS4 {
        v = load4(x[pixel + (phase * STRIDE + o) / 4u]);
    } else {
#loop k 4 && o + {k} < params.C_out
        let c = (phase * STRIDE + o + {k}) / REP;
        v[{k}] = load4(x[pixel + c / 4u])[c % 4u];
#end
    }
    let at = params.y_at + (group.z * params.H + group.y) * params.W * C_out4 + i;
    if ACCUMULATE {
        v += load4(y[at]);
    }
    y[at] = store4(v);
}
