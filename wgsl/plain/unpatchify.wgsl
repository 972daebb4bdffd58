// unpatchify: y[t, p*Y + q, p*X + r, c] = x[t, Y, X, c*p*p + r*across + q*down]
//
//   x  [T, H, W, C*p*p]    elem  read        from x_at (vec4s) on
//   y  [T, H*p, W*p, C]    elem  read_write  from y_at on; 0 in padding channels; may not alias x
//
// A patch's fastest index is its row q (across p, down 1) or its column r (across 1,
// down p). One invocation per pixel of y and four channels. Reference:
// ref/unpatchify.go. Grid: (W*p * C/4 / WG, H*p, T). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    H: u32,
    W: u32,
    C: u32,
    p: u32,
    across: u32,
    down: u32,
    x_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let C4 = (params.C + 3u) / 4u;
    let p = params.p;
    let i = group.x * WG + local;
    if i >= params.W * p * C4 { return; }
    let column = i / C4;
    let c0 = i % C4 * 4u;
    let phase = column % p * params.across + group.y % p * params.down;
    let pixel = (group.z * params.H + group.y / p) * params.W + column / p;
    let at = params.x_at + pixel * ((params.C * p * p + 3u) / 4u);
    var v = vec4<f32>();
#loop k 4 && c0 + {k} < params.C
    let c = (c0 + {k}) * p * p + phase;
    v[{k}] = load4(x[at + c / 4u])[c % 4u];
#end
    y[params.y_at + (group.z * params.H * p + group.y) * params.W * p * C4 + i] = store4(v);
}
