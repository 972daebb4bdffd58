// weight4: four halves in two words, on adapters without f16.
alias weight4 = vec2<u32>;
fn load_weight4(e: weight4) -> vec4<f32> { return vec4<f32>(unpack2x16float(e.x), unpack2x16float(e.y)); }
fn store_weight4(v: vec4<f32>) -> weight4 { return vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw)); }
