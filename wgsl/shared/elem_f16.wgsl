// elem4: four f16, needs shader-f16.
alias elem4 = vec4<f16>;
fn load4(e: elem4) -> vec4<f32> { return vec4<f32>(e); }
fn store4(v: vec4<f32>) -> elem4 { return vec4<f16>(v); }
