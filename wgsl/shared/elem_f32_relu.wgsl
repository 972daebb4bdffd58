// elem4: four f32, with ReLU of stored values. Unlike with max, NaN stays NaN.
alias elem4 = vec4<f32>;
fn load4(e: elem4) -> vec4<f32> { return e; }
fn relu(v: vec4<f32>) -> vec4<f32> { return select(v, vec4<f32>(), v < vec4<f32>()); }
fn store4(v: vec4<f32>) -> elem4 { return relu(v); }
