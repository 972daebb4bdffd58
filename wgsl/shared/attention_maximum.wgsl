// The running maximum of attention's softmax. The kernel declares params and state.

// Before is the maximum so far, and the sum over the earlier blocks of keys relative to
// it.
struct Before {
    maximum: f32,
    sum: f32,
    decay: f32, // factor for their values
}

// before returns it for query i; m are maxima of its scores in this block.
fn before(i: u32, m: vec4<f32>) -> Before {
    let here = max(max(m.x, m.y), max(m.z, m.w));
    if params.key == 0u { return Before(here, 0.0, 0.0); }
    let maximum = max(here, state[i].x);
    let decay = exp2(state[i].x - maximum);
    return Before(maximum, state[i].y * decay, decay);
}
