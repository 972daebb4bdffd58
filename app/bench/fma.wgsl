// fma: 32 chains of multiply-adds an invocation, v = v*scale + shift STEPS times
// over from its own beginnings; y is their sum. What it measures is the device's
// arithmetic alone: nothing is read in the loop, and nothing in it is constant.
//
//   x  [2]              f32  read        scale and shift
//   y  [workgroups*64]  f32  read_write
//
// Chain k of invocation i begins at (i mod 64 + k)/64. Grid: workgroups of 64.

override STEPS: u32 = 256;
override FUSED: bool = true;

struct Params {
    first: vec4<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

fn step(v: vec4<f32>, scale: vec4<f32>, shift: vec4<f32>) -> vec4<f32> {
    if FUSED { return fma(v, scale, shift); }
    return v * scale + shift;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let scale = vec4<f32>(x[0]);
    let shift = vec4<f32>(x[1]);
    let v = (f32(local) + vec4<f32>(0.0, 1.0, 2.0, 3.0)) / 64.0;
    var a = v;
    var b = v + 4.0 / 64.0;
    var c = v + 8.0 / 64.0;
    var d = v + 12.0 / 64.0;
    var e = v + 16.0 / 64.0;
    var f = v + 20.0 / 64.0;
    var g = v + 24.0 / 64.0;
    var h = v + 28.0 / 64.0;
    for (var i = 0u; i < STEPS; i++) {
        a = step(a, scale, shift);
        b = step(b, scale, shift);
        c = step(c, scale, shift);
        d = step(d, scale, shift);
        e = step(e, scale, shift);
        f = step(f, scale, shift);
        g = step(g, scale, shift);
        h = step(h, scale, shift);
    }
    let sum = a + b + c + d + e + f + g + h;
    y[(workgroup.x + params.first.x) * 64u + local] = sum.x + sum.y + sum.z + sum.w;
}
