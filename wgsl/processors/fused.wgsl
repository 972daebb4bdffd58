// Products of four channels of x and four rows of weights, one after the other, for
// sums that take the products of all rows of taps at once.

const NOWHERE: u32 = 0xffffffffu; // offset of pixels outside of x

// fused adds the products of four channels of x.
fn fused(sum: vec4<f32>, v: vec4<f32>, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> vec4<f32> {
    return fma(v.wwww, d, fma(v.zzzz, c, fma(v.yyyy, b, fma(v.xxxx, a, sum))));
}
