// fma: chains of multiply-adds, v = v*scale + shift STEPS times over from their own
// beginnings, 8 or, where WIDE, 12 an invocation; y is their sum. What it measures is
// the device's arithmetic alone: nothing is read in the loop, nothing in it is
// constant, and sixteen steps are written out, since processors take longer for the
// loop than for one. More chains are more than the registers of some.
//
//   x  [2]              f32  read        scale and shift
//   y  [workgroups*64]  f32  read_write
//
// Chain k of invocation i begins at (i mod 64 + k)/64. STEPS is a multiple of 16.
// Grid: workgroups of 64.

override STEPS: u32 = 256;
override FUSED: bool = true;
override WIDE: bool = true;

struct Params {
    first: vec4<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

struct Chains {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
}

fn next(v: vec4<f32>, scale: vec4<f32>, shift: vec4<f32>) -> vec4<f32> {
    if FUSED { return fma(v, scale, shift); }
    return v * scale + shift;
}

fn step(v: Chains, scale: vec4<f32>, shift: vec4<f32>) -> Chains {
    if !WIDE { return Chains(next(v.a, scale, shift), next(v.b, scale, shift), v.c); }
    return Chains(next(v.a, scale, shift), next(v.b, scale, shift), next(v.c, scale, shift));
}

fn four(v: Chains, scale: vec4<f32>, shift: vec4<f32>) -> Chains {
    return step(step(step(step(v, scale, shift), scale, shift), scale, shift), scale, shift);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let scale = vec4<f32>(x[0]);
    let shift = vec4<f32>(x[1]);
    let first = (f32(local) + vec4<f32>(0.0, 1.0, 2.0, 3.0)) / 64.0;
    var v = Chains(first, first + 4.0 / 64.0, vec4<f32>());
    if WIDE { v.c = first + 8.0 / 64.0; }
    for (var i = 0u; i < STEPS; i += 16u) {
        v = four(four(four(four(v, scale, shift), scale, shift), scale, shift), scale, shift);
    }
    let sum = v.a + v.b + v.c;
    y[(workgroup.x + params.first.x) * 64u + local] = sum.x + sum.y + sum.z + sum.w;
}
