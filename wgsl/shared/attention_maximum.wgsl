// The running maximum of attention's softmax. The kernel declares params and state.

// Before is the maximum so far, and what the blocks of keys before this one add up
// to below it.
struct Before {
    maximum: f32,
    sum: f32,
    decay: f32, // what their values shrink by
}

// before is that of query i, of whose scores in this block m are maxima.
fn before(i: u32, m: vec4<f32>) -> Before {
    let here = max(max(m.x, m.y), max(m.z, m.w));
    if params.key == 0u { return Before(here, 0.0, 0.0); }
    let maximum = max(here, state[i].x);
    let decay = exp2(state[i].x - maximum);
    return Before(maximum, state[i].y * decay, decay);
}
