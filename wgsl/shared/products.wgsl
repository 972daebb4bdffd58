// Products of four input channels with weights, for the sums of sums.wgsl. The kernel
// binds weight.

#import weight
#import sums
#import multiply_add

const MATRIX: u32 = 4u * WIDE; // vec4s of a Matrix

// Matrix is the weights of four input channels and a block of output channels.
struct Matrix {
    a0: vec4<f32>,
    a1: vec4<f32>,
    b0: vec4<f32>,
    b1: vec4<f32>,
    c0: vec4<f32>,
    c1: vec4<f32>,
    d0: vec4<f32>,
    d1: vec4<f32>,
}

fn matrix(at: u32) -> Matrix {
    return Matrix(
        load_weight4(weight[at]), load_weight4(weight[at + 1u]),
        load_weight4(weight[at + 2u]), load_weight4(weight[at + 3u]),
        load_weight4(weight[at + 4u]), load_weight4(weight[at + 5u]),
        load_weight4(weight[at + 6u]), load_weight4(weight[at + 7u]),
    );
}

// add adds the products of four channels of x to the sums of pixel p.
fn add(sums: ptr<function, Sums>, p: u32, v: vec4<f32>, m: Matrix) {
    (*sums)[WIDE * p] = multiply_add4((*sums)[WIDE * p], v, m.a0, m.b0, m.c0, m.d0);
    (*sums)[WIDE * p + 1u] = multiply_add4((*sums)[WIDE * p + 1u], v, m.a1, m.b1, m.c1, m.d1);
}
