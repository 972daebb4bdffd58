// sample: z = mean + exp(clamp(logvar, -30, 20)/2)*noise
//
//   moments  [P, 2*Z]  elem  read        mean, then log-variance; P = T*h*w pixels; from moments_at (vec4s) on
//   noise    [P, Z]    f32   read        N(0,1), see Noise; from noise_at on
//   z        [P, Z]    f32   read_write  from z_at on; 0 in padding channels; aliases nothing
//
// Each tensor is padded to a multiple of 4 channels as a whole, so log-variances may
// start inside a vec4. One invocation makes four channels of a pixel. Reference:
// ref/sample.go. Grid: P * Z/4 / WG. WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    P: u32,
    Z: u32,
    moments_at: u32,
    noise_at: u32,
    z_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> moments: array<elem4>;
@group(0) @binding(2) var<storage, read> noise: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> z: array<vec4<f32>>;

// channels returns channels c..c+3 of a pixel of M4 vec4s.
fn channels(at: u32, c: u32, M4: u32) -> vec4<f32> {
    let i = c / 4u;
    let a = load4(moments[at + i]);
    let b = load4(moments[at + min(i + 1u, M4 - 1u)]);
    switch c % 4u {
        case 1u: { return vec4<f32>(a.yzw, b.x); }
        case 2u: { return vec4<f32>(a.zw, b.xy); }
        case 3u: { return vec4<f32>(a.w, b.xyz); }
        default: { return a; }
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let Z4 = (params.Z + 3u) / 4u;
    let M4 = (2u * params.Z + 3u) / 4u;
    let i = group.x * WG + local;
    if i >= params.P * Z4 { return; }
    let at = params.moments_at + i / Z4 * M4;
    let c = i % Z4 * 4u;
    let logvar = clamp(channels(at, params.Z + c, M4), vec4<f32>(-30.0), vec4<f32>(20.0));
    let v = channels(at, c, M4) + exp(0.5 * logvar) * noise[params.noise_at + i];
    z[params.z_at + i] = select(vec4<f32>(), v, vec4<u32>(c, c + 1u, c + 2u, c + 3u) < vec4<u32>(params.Z));
}
