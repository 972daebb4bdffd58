// elem4: four halves in two words, on adapters without f16.
alias elem4 = vec2<u32>;
fn load4(e: elem4) -> vec4<f32> { return vec4<f32>(unpack2x16float(e.x), unpack2x16float(e.y)); }
fn store4(v: vec4<f32>) -> elem4 { return vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw)); }
