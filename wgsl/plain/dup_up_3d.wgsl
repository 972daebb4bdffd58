// dup_up_3d: y[t*phases + p, r, s, o] += x[t, (y0+r)/FS, (x0+s)/FS, e/REP], F = FT*FS*FS
//
// e = o%CYCLE*F + (dt*FS + dh)*FS + dw with the time phase dt = FT - phases + p, the
// row phase dh = (y0+r) % FS and the column phase dw = (x0+s) % FS. Channels are
// repeated one by one, with REP = C_out*F/C_in and CYCLE = C_out, or as a sequence,
// with REP = 1 and CYCLE = C_in/F. Without ACCUMULATE y is overwritten.
//
//   x  [T, H_in, W_in, C_in]      elem  read        from x_at (vec4s) on
//   y  [T*phases, H, W, C_out]    elem  read_write  from y_at on; aliases nothing; 0 in padding channels
//
// One invocation adds to four channels of a pixel of y; it reads each vec4 with one of
// their sources once. Reference: ref/dup_up_3d.go. Grid: (W * C_out/4 / WG, H,
// T*phases). WG is in kernels.go.

#import tile
#import elem
#import pick

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
    phases: u32,
    x_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read_write> y: array<elem4>;

override FT: u32 = 1;
override FS: u32 = 2;
override REP: u32 = 2;
override CYCLE: u32 = 4;
override ACCUMULATE: bool = true;

override F: u32 = FT * FS * FS;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    let C_out4 = (params.C_out + 3u) / 4u;
    if i >= params.W * C_out4 { return; }
    let row = params.y0 + group.y;
    let column = params.x0 + i / C_out4;
    let t = group.z / params.phases;
    let dt = FT - params.phases + group.z % params.phases;
    let phase = (dt * FS + row % FS) * FS + column % FS;
    let o = vec4<u32>(i % C_out4 * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
    let source = select(vec4<u32>(4u * params.C_in4), (o % CYCLE * F + phase) / REP, o < vec4<u32>(params.C_out));

    let pixel = params.x_at + ((t * params.H_in + row / FS) * params.W_in + column / FS) * params.C_in4;
    let least = min(min(source.x, source.y), min(source.z, source.w));
    let most = max(max(source.x, source.y), max(source.z, source.w));
    let end = min(most / 4u + 1u, params.C_in4); // padding channels of y have sources beyond x
    var picked = vec4<f32>();
    for (var c = least / 4u; c < end; c++) {
        let v = load4(x[pixel + c]);
        let k = source - 4u * c; // wraps far beyond 3 for channels before these four
        picked = select(picked, vec4<f32>(pick(v, k.x), pick(v, k.y), pick(v, k.z), pick(v, k.w)), k < vec4<u32>(4u));
    }
    let at = params.y_at + (group.z * params.H + group.y) * params.W * C_out4 + i;
    if ACCUMULATE {
        picked += load4(y[at]);
    }
    y[at] = store4(picked);
}
