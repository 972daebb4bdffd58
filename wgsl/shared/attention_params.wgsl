// Params of attention's three phases, for one block of queries and of keys.
struct Params {
    first: vec4<u32>,
    N: u32,       // tokens of the frame
    C4: u32,      // C/4, rounded up
    queries: u32, // of the block
    key: u32,     // first key of the block
    keys: u32,    // a multiple of 8; may run past N
    q_at: u32,    // vec4s: where the first query's token is
    k_at: u32,    // that of the first key
    o_at: u32,    // output of the first query
    scale: f32,   // log2(e)/sqrt(C): powers of 2 are taken instead of e
}

override ROLLED: bool = false; // loops that store may not be unrolled
