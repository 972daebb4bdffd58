// fold: the coefficients of a polynomial in two variables from its values, which
// are matrices: y[p, o, c, i, j] = sum_e L[2i + p/2, e/4] * L[2j + p%2, e%4] * x[e, c, o]
//
// The last step of folding a 3x3 convolution into the 1x1 convolution with pixel
// shuffle before it (engine/fold.go): along rows and along columns, the kernel of
// the two is the product of a polynomial of three coefficients and one of two. x
// holds the products at the points 0, 1, -1 and infinity; L takes them to the four
// coefficients, number m of which belongs to pixels of parity m%2 and cell m/2.
//
//   x  [16, inputs, C_out]     f32     read        e = 4 * point of rows + point of columns
//   y  as conv_up's weight     weight  read_write  from y_at on
//
// Where a number of y lies is said by strides in vec4s. One invocation makes all
// of four outputs of one input. Reference: ref/conv_up.go. Grid: (vec4s of
// outputs of all inputs / WG, 1, 1).

#import tile
#import weight

struct Params {
    first: vec4<u32>,
    inputs: u32,
    C_out4: u32,
    y_at: u32,
    parity: u32,   // strides: between parities,
    block: u32,    // blocks of outputs,
    row: u32,      // rows of cells,
    group: u32,    // groups of inputs_in inputs,
    column: u32,   // columns of cells
    inputs_in: u32,
    outputs_in4: u32, // vec4s of outputs in a block
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<weight4>;

alias Four = array<vec4<f32>, 4>;

// coefficients of a polynomial of degree 3 by its values at 0, 1, -1, infinity.
fn coefficients(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> Four {
    return Four(a, 0.5 * (b - c) - d, 0.5 * (b + c) - a, d);
}

// across is the coefficients along columns of row e of the values.
fn across(e: u32, at: u32) -> Four {
    let stride = params.inputs * params.C_out4;
    let v = 4u * e * stride + at;
    return coefficients(x[v], x[v + stride], x[v + 2u * stride], x[v + 3u * stride]);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let n = (workgroup.x + params.first.x) * WG + local;
    if n >= params.inputs * params.C_out4 { return; }
    let o = n % params.C_out4;
    let c = n / params.C_out4;
    var values = array<Four, 4>();
    for (var e = 0u; e < 4u; e++) {
        values[e] = across(e, n);
    }
    let at = params.y_at + o / params.outputs_in4 * params.block + o % params.outputs_in4
        + c / params.inputs_in * params.group + c % params.inputs_in * params.outputs_in4;
    for (var j = 0u; j < 4u; j++) { // along columns
        var down = coefficients(values[0][j], values[1][j], values[2][j], values[3][j]);
        for (var i = 0u; i < 4u; i++) { // along rows
            let to = at + (i % 2u * 2u + j % 2u) * params.parity + i / 2u * params.row + j / 2u * params.column;
            y[to] = store_weight4(down[i]);
        }
    }
}
