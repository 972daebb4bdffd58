// Storage and products of the tiled kernels in workgroup memory: f32.

#import weight
#import sums
#import multiply_add

alias Four = vec4<f32>;      // channels of a pixel
alias Piece = vec4<f32>;     // of weights
const PIECES: u32 = 2;       // for an input channel
alias Parts = Sums;

struct Eight {
    a: vec4<f32>,
    b: vec4<f32>,
}

alias coefficient = weight4;

fn four(e: elem4) -> Four { return load4(e); }
fn numbers(v: Four) -> vec4<f32> { return v; }
fn piece(e: coefficient) -> Piece { return load_weight4(e); }
fn eight(first: Piece, last: Piece) -> Eight { return Eight(first, last); }

fn begin(sums: ptr<function, Sums>) -> Parts { return *sums; }

// add8 adds the products of one channel of pixel p.
fn add8(parts: ptr<function, Parts>, p: u32, v: f32, m: Eight) {
    (*parts)[WIDE * p] = multiply_add((*parts)[WIDE * p], v, m.a);
    (*parts)[WIDE * p + 1u] = multiply_add((*parts)[WIDE * p + 1u], v, m.b);
}

fn finish(sums: ptr<function, Sums>, parts: ptr<function, Parts>) { *sums = *parts; }
