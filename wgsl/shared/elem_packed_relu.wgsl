// elem4: four halves in two words, with ReLU of stored values. Unlike with max, NaN
// stays NaN.
alias elem4 = vec2<u32>;
fn load4(e: elem4) -> vec4<f32> { return vec4<f32>(unpack2x16float(e.x), unpack2x16float(e.y)); }
fn relu(v: vec4<f32>) -> vec4<f32> { return select(v, vec4<f32>(), v < vec4<f32>()); }
fn store4(v: vec4<f32>) -> elem4 {
    let r = relu(v);
    return vec2<u32>(pack2x16float(r.xy), pack2x16float(r.zw));
}
