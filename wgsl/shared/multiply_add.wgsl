// Sums of products, as products and sums. On Direct3D 12 kernels import
// multiply_add_fma.wgsl instead.

fn multiply_adds(sum: vec4<f32>, v: vec4<f32>, a: vec4<f32>) -> vec4<f32> {
    return sum + v * a;
}

fn multiply_add(sum: vec4<f32>, v: f32, a: vec4<f32>) -> vec4<f32> {
    return sum + v * a;
}

fn multiply_add4(sum: vec4<f32>, v: vec4<f32>, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> vec4<f32> {
    return sum + (v.x * a + v.y * b + v.z * c + v.w * d);
}
