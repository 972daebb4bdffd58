// elem4: four f32, with LeakyReLU of stored values: negative ones are divided by five.
alias elem4 = vec4<f32>;
fn load4(e: elem4) -> vec4<f32> { return e; }
fn relu(v: vec4<f32>) -> vec4<f32> { return select(v, 0.2 * v, v < vec4<f32>()); }
fn store4(v: vec4<f32>) -> elem4 { return relu(v); }
