// halves of a weight4, which is rounded to them.
fn halves(e: weight4) -> vec2<u32> { return vec2<u32>(pack2x16float(e.xy), pack2x16float(e.zw)); }
