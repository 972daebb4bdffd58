// The entry point of the pointwise kernels for processors, which import how weights are
// loaded.

#import processors/products
#import processors/accumulate
#import processors/taps_pointwise

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight4>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let block = mine.block;
    let p0 = mine.segment * PIXELS;
    let real = p0 < params.P && WIDE * block < params.C_out4;
    if !TOGETHER && !real { return; }
    ready();
    let f = group.z;

    var sums = Sums();
    if WRITTEN {
#unroll p PIXELS
        sums[WIDE * {p}u] = bias[BIASES * block * WIDE];
        sums[WIDE * {p}u + 1u] = bias[BIASES * block * WIDE + 1u];
#end
    } else {
        start(&sums, block);
    }
    var at = array<u32, PIXELS>();
#unroll p PIXELS
    at[{p}] = f * params.x_stride + min(p0 + {p}u, params.P - 1u) * params.C_in4;
#end
    let tap_size = params.C_in4 * MATRIX; // weights of one temporal tap
    let w_block = params.weight_at + block * params.weight_stride;
    for (var c = 0u; c < params.C_in4; c++) {
        let w = w_block + c * MATRIX;
#unroll k 3
        if KT > {k}u { tap{k}(&sums, &at, c, w + {k}u * tap_size); }
#end
    }
    if !real { return; }
    if WRITTEN {
#unroll p PIXELS
        if p0 + {p}u < params.P {
            put(sums[WIDE * {p}u], place(f, p0 + {p}u, block * WIDE), block * WIDE);
            put(sums[WIDE * {p}u + 1u], place(f, p0 + {p}u, block * WIDE + 1u), block * WIDE + 1u);
        }
#end
        return;
    }
    store(&sums, f, p0, params.P, block);
}
