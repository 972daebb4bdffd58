// elem4: four f32.
alias elem4 = vec4<f32>;
fn load4(e: elem4) -> vec4<f32> { return e; }
fn store4(v: vec4<f32>) -> elem4 { return v; }
