// weight4: four f32.
alias weight4 = vec4<f32>;
fn load_weight4(e: weight4) -> vec4<f32> { return e; }
fn store_weight4(v: vec4<f32>) -> weight4 { return v; }
