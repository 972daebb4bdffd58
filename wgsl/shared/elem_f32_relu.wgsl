// elem4: four f32, with ReLU of what is stored. NaN stays NaN, as max would not have it.
alias elem4 = vec4<f32>;
fn load4(e: elem4) -> vec4<f32> { return e; }
fn relu(v: vec4<f32>) -> vec4<f32> { return select(v, vec4<f32>(), v < vec4<f32>()); }
fn store4(v: vec4<f32>) -> elem4 { return relu(v); }
