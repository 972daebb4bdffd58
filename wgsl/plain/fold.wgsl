// fold: the coefficients of a polynomial in two variables from its values, which are
// matrices: y[p, o, c, i, j] = sum_e L[2i + p/2, e/4] * L[2j + p%2, e%4] * x[e, c, o]
//
// The last step of folding a 3x3 convolution into the 1x1 convolution with pixel
// shuffle before it (engine/fold.go). Along rows and along columns, the combined kernel
// is the product of a polynomial of three coefficients and one of two. x holds the
// products at the points 0, 1, -1 and infinity. L maps them to the four coefficients;
// coefficient m belongs to pixels of parity m%2 and cell m/2.
//
//   x  [16, inputs, C_out]     f32     read        e = 4 * point of rows + point of columns
//   y  as conv_up's weight     weight  read_write  from y_at on
//
// Strides in vec4s give the place of a number in y. One invocation makes all
// coefficients of four outputs of one input, or with ROWS, where a vec4 of y holds
// inputs, of one output of four inputs. Reference: ref/conv_up.go. Grid: (vec4s of y
// for a cell of a parity / WG, 1, 1).

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
    inputs_in: u32,   // a group,
    outputs_in: u32,  // and outputs a block
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<weight4>;

override ROWS: bool = false;

alias Four = array<vec4<f32>, 4>;

// coefficients returns those of a polynomial of degree 3 from its values at 0, 1, -1,
// infinity.
fn coefficients(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> Four {
    return Four(a, 0.5 * (b - c) - d, 0.5 * (b + c) - a, d);
}

// value returns x at point e: without ROWS for four outputs from o on and input c, with
// ROWS for output o and four inputs from c on, with zeros for missing ones.
fn value(e: u32, o: u32, c: u32) -> vec4<f32> {
    var v = vec4<f32>();
    if !ROWS {
        return x[(e * params.inputs + c) * params.C_out4 + o / 4u];
    }
#loop k 4 && {k} < params.inputs - c
    v[{k}] = x[(e * params.inputs + c + {k}) * params.C_out4 + o / 4u][o % 4u];
#end
    return v;
}

// across returns the coefficients along columns from row e of the values.
fn across(e: u32, o: u32, c: u32) -> Four {
    return coefficients(value(4u * e, o, c), value(4u * e + 1u, o, c), value(4u * e + 2u, o, c), value(4u * e + 3u, o, c));
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let n = (workgroup.x + params.first.x) * WG + local;
    let outputs = select(params.C_out4, 4u * params.C_out4, ROWS); // number of outputs, or of vec4s of them
    let o = n % outputs * select(4u, 1u, ROWS);
    let c = n / outputs * select(1u, 4u, ROWS);
    if c >= params.inputs { return; }
    var values = array<Four, 4>();
#loop e 4
    values[{e}] = across({e}, o, c);
#end
    let inner = select(c % params.inputs_in * params.outputs_in + o % params.outputs_in, o % params.outputs_in * params.inputs_in + c % params.inputs_in, ROWS);
    let at = params.y_at + o / params.outputs_in * params.block + c / params.inputs_in * params.group + inner / 4u;
#loop j 4
    // Along columns, then along rows.
    var down = coefficients(values[0][{j}], values[1][{j}], values[2][{j}], values[3][{j}]);
#loop i 4
    let to = at + ({i} % 2u * 2u + {j} % 2u) * params.parity + {i} / 2u * params.row + {j} / 2u * params.column;
    y[to] = store_weight4(down[{i}]);
#end
#end
}
