// weight8: eight f32, rounded to halves when loaded.
struct weight8 {
    a: vec4<f32>,
    b: vec4<f32>,
}
fn halves(e: weight8) -> vec4<u32> {
    return vec4<u32>(pack2x16float(e.a.xy), pack2x16float(e.a.zw), pack2x16float(e.b.xy), pack2x16float(e.b.zw));
}
