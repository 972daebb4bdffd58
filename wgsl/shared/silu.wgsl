// silu: v*sigmoid(v). The maximum keeps exp finite: below -80 the quotient is 0 to
// f32's precision.
fn silu(v: vec4<f32>) -> vec4<f32> {
    return v / (1.0 + exp(-max(v, vec4<f32>(-80.0))));
}
