// Declarations of all kernels like attention_scores.wgsl.

#import attention_params

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<elem4>;
@group(0) @binding(2) var<storage, read> kv: array<elem4>;
@group(0) @binding(3) var<storage, read_write> s: array<vec4<f32>>;

const_assert BLOCK == 8u; // two vec4s of keys, a and b
const LOWEST: f32 = -3e38;

// token returns the start of key j's token, with j clamped into the frame.
fn token(j: u32) -> u32 {
    return params.k_at + min(j, params.N - params.key - 1u) * 3u * params.C4;
}
