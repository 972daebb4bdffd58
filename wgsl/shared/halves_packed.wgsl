// halves of a weight4, as they are.
fn halves(e: weight4) -> vec2<u32> { return e; }
