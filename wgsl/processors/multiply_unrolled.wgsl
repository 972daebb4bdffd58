// multiply() for SwiftShader, which does not unroll loops. SwiftShader computes four
// invocations at once with sixteen registers, and assigns them to the values that are
// read most. If rows and weights were values, each product and sum would go through
// memory. So rows, weights and sums are in memory instead, at constant indices, where
// one load reads a number of all four invocations.

alias Row = array<vec4<f32>, INPUTS>; // of pixels under a row's taps, four channels

var<private> held: array<vec4<f32>, TAPS * MATRIX>; // weights of a row

// hold keeps a row and the weights in memory: SwiftShader does so if a loop indexes
// them.
fn hold(row: ptr<function, Row>) {
    for (var q = 0u; q < INPUTS; q++) { (*row)[q] = vec4<f32>(); }
    for (var n = 0u; n < TAPS * MATRIX; n++) { held[n] = vec4<f32>(); }
}

// multiply adds the products of a row with its taps.
fn multiply(sums: ptr<function, Sums>, row: ptr<function, Row>, at: u32) {
    var m = Matrix();
#unroll b BLOCKS
#unroll j TAPS
    m = matrix(at + {b}u * params.weight_stride + {j}u * MATRIX);
    held[{j}u * MATRIX] = m.a0;
    held[{j}u * MATRIX + 1u] = m.a1;
    held[{j}u * MATRIX + 2u] = m.b0;
    held[{j}u * MATRIX + 3u] = m.b1;
    held[{j}u * MATRIX + 4u] = m.c0;
    held[{j}u * MATRIX + 5u] = m.c1;
    held[{j}u * MATRIX + 6u] = m.d0;
    held[{j}u * MATRIX + 7u] = m.d1;
#end
#unroll p PIXELS
#unroll h WIDE
    {
        var sum = (*sums)[WIDE * (PIXELS * {b}u + {p}u) + {h}u];
#unroll j TAPS
        sum = fma(vec4<f32>((*row)[STRIDE * {p}u + {j}u].x), held[{j}u * MATRIX + {h}u], sum);
        sum = fma(vec4<f32>((*row)[STRIDE * {p}u + {j}u].y), held[{j}u * MATRIX + 2u + {h}u], sum);
        sum = fma(vec4<f32>((*row)[STRIDE * {p}u + {j}u].z), held[{j}u * MATRIX + 4u + {h}u], sum);
        sum = fma(vec4<f32>((*row)[STRIDE * {p}u + {j}u].w), held[{j}u * MATRIX + 6u + {h}u], sum);
#end
        (*sums)[WIDE * (PIXELS * {b}u + {p}u) + {h}u] = sum;
    }
#end
#end
#end
}
