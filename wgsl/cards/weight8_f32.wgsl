// weight8: eight f32; halves() rounds them.
struct weight8 {
    a: vec4<f32>,
    b: vec4<f32>,
}
fn head4(e: weight8) -> vec4<f32> { return e.a; }
fn tail4(e: weight8) -> vec4<f32> { return e.b; }
fn halves(e: weight8) -> vec4<u32> {
    return vec4<u32>(pack2x16float(e.a.xy), pack2x16float(e.a.zw), pack2x16float(e.b.xy), pack2x16float(e.b.zw));
}
