// Declarations of both kernels of group norm's first phase: Params, bindings, and the
// moments of a column of four channels.

struct Params {
    first: vec4<u32>,
    P: u32,
    C4: u32,     // C/4, rounded up
    G: u32,      // groups
    size: u32,   // channels of a group
    chunk: u32,  // pixels of a workgroup
    chunks: u32,
    base: u32,   // number of the first chunk in x
    x_at: u32,
    head_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read> head: array<elem4>;
@group(0) @binding(3) var<storage, read_write> partials: array<vec2<f32>>;

struct Moments {
    mean: vec4<f32>,
    m2: vec4<f32>,
}

// measure returns the moments of the pixels begin, begin + step, ... below end; at is
// the offset of the column in x.
fn measure(at: u32, begin: u32, end: u32, step: u32, pivot: vec4<f32>) -> Moments {
    var s = Moments();
    var n = 0.0;
    var p = begin;
    for (; p + 3u * step < end; p += 4u * step) {
        let i = at + p * params.C4;
        let stride = step * params.C4;
        let v0 = load4(x[i]) - pivot;
        let v1 = load4(x[i + stride]) - pivot;
        let v2 = load4(x[i + 2u * stride]) - pivot;
        let v3 = load4(x[i + 3u * stride]) - pivot;
        let mean = ((v0 + v1) + (v2 + v3)) * 0.25;
        let d0 = v0 - mean;
        let d1 = v1 - mean;
        let d2 = v2 - mean;
        let d3 = v3 - mean;
        let delta = mean - s.mean;
        let part = 4.0 / (n + 4.0);
        s.mean += delta * part;
        s.m2 += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3) + delta * delta * (n * part);
        n += 4.0;
    }
    for (; p < end; p += step) {
        let delta = load4(x[at + p * params.C4]) - pivot - s.mean;
        let part = 1.0 / (n + 1.0);
        s.mean += delta * part;
        s.m2 += delta * delta * (n * part);
        n += 1.0;
    }
    return s;
}
