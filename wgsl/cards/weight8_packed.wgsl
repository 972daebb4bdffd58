// weight8: eight halves in four words.
alias weight8 = vec4<u32>;
fn halves(e: weight8) -> vec4<u32> { return e; }
