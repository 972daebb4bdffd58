// Storage and products of the tiled kernels in workgroup memory: halves, in words.

#import cards/f16

alias Four = vec2<u32>;  // channels of a pixel
alias Piece = vec4<u32>; // of weights
const PIECES: u32 = 1;   // for an input channel
alias Eight = vec4<u32>;

alias coefficient = weight8;

fn four(e: elem4) -> Four { return e; }
fn numbers(v: Four) -> vec4<f16> { return bitcast<vec4<f16>>(v); }
fn piece(e: coefficient) -> Piece { return halves(e); }
fn eight(first: Piece, last: Piece) -> Eight { return first; }

fn begin(sums: ptr<function, Sums>) -> Parts { return Parts(); }

fn add8(parts: ptr<function, Parts>, p: u32, v: f16, m: Eight) { add_halves(parts, p, v, m); }

fn finish(sums: ptr<function, Sums>, parts: ptr<function, Parts>) { total(sums, parts); }
