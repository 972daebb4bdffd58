// eight: eight f32.
struct eight {
    a: vec4<f32>,
    b: vec4<f32>,
}
fn head4(e: eight) -> vec4<f32> { return e.a; }
fn tail4(e: eight) -> vec4<f32> { return e.b; }
