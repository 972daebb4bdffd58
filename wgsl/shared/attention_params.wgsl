// Params of attention's three phases, for one block of queries and of keys.
struct Params {
    first: vec4<u32>,
    N: u32,       // tokens of the frame
    C4: u32,      // C/4, rounded up
    queries: u32, // of the block
    key: u32,     // first key of the block
    keys: u32,    // a multiple of 8; may run past N
    q_at: u32,    // offset of the first query's token in vec4s
    k_at: u32,    // offset of the first key's token
    o_at: u32,    // offset of the first query's output
    scale: f32,   // log2(e)/sqrt(C), for powers of 2 instead of e
}

override ROLLED: bool = false; // keep the loops that store, do not unroll them
