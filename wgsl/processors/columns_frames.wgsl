// Columns of pixels of up to three frames: columns.wgsl, with x0 to x2 for the temporal
// taps. The kernel declares KT.

#import processors/columns

fn four(v: elem4) -> vec4<f32> { return load4(v); }

// sweep adds the products of all temporal taps, of frames from `line` on.
fn sweep(sums: ptr<function, Sums>, all: Places, line: u32, block: u32, own: u32) {
    let weights = params.weight_at + block * params.weight_stride;
    let tap = TAPS * params.C_in4 * TAPS * MATRIX;
#unroll k 3
    if KT > {k}u { sweep{k}(sums, all, params.x{k}_at + line, weights + {k}u * tap, own); }
#end
}
