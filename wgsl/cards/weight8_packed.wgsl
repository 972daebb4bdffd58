// weight8: eight halves in four words.
alias weight8 = vec4<u32>;
fn head4(e: weight8) -> vec4<f32> { return vec4<f32>(unpack2x16float(e.x), unpack2x16float(e.y)); }
fn tail4(e: weight8) -> vec4<f32> { return vec4<f32>(unpack2x16float(e.z), unpack2x16float(e.w)); }
fn halves(e: weight8) -> vec4<u32> { return e; }
