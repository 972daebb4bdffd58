// Declarations of all kernels like attention_values.wgsl, and their store.

#import attention_params

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> kv: array<elem4>;
@group(0) @binding(2) var<storage, read> s: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> state: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> acc: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> o: array<elem4>;

const_assert BLOCK == 8u; // two vec4s of channels

// put writes four channels of query i.
fn put(sum: vec4<f32>, i: u32, column: u32) {
    let at = i * params.C4 + column;
    if params.key + params.keys >= params.N {
        o[params.o_at + at] = store4(sum / state[i].y);
    } else {
        acc[at] = sum;
    }
}
