// The functions of multiply_add.wgsl with fma, for Direct3D 12: its compiler fuses no
// product with a sum.

fn multiply_adds(sum: vec4<f32>, v: vec4<f32>, a: vec4<f32>) -> vec4<f32> {
    return fma(v, a, sum);
}

fn multiply_add(sum: vec4<f32>, v: f32, a: vec4<f32>) -> vec4<f32> {
    return multiply_adds(sum, vec4<f32>(v), a);
}

fn multiply_add4(sum: vec4<f32>, v: vec4<f32>, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> vec4<f32> {
    return multiply_add(multiply_add(multiply_add(multiply_add(sum, v.x, a), v.y, b), v.z, c), v.w, d);
}
