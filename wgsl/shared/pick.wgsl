// pick returns component i of v, without indexing it: Direct3D's compiler would put v into
// memory.
fn pick(v: vec4<f32>, i: u32) -> f32 {
    return select(select(v.x, v.y, i == 1u), select(v.z, v.w, i == 3u), i > 1u);
}
