// group_norm_partial: mean and M2 = sum((x - mean)^2) of a chunk of pixels, for every frame and group
//
//   x         [T, P, C]       elem  read        from x_at (vec4s) on; all pixels, or those of some chunks of a frame
//   head      [T, P, C]       elem  read        from head_at on, the same with the first pixel of a frame
//   partials  [T, G, chunks]  vec2  read_write  (mean - pivot, M2); aliases nothing
//
// The pivot of a group is its first channel in pixel 0 of the frame: moments are
// taken of x - pivot, so that a mean far larger than the deviation costs nothing.
// Threads are laid out [rows, C/4]: one keeps four channels of every rows-th
// pixel, in batches of four merged as Chan et al. do. Then one thread a group
// merges the rows and the group's channels, means first. C is at most 1024.
// Reference: ref/group_norm.go. Grid: (chunks, T). WG is in group_norm.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    P: u32,
    C4: u32,     // C/4, rounded up
    G: u32,      // groups
    size: u32,   // channels of a group
    chunk: u32,  // pixels of a workgroup
    chunks: u32,
    base: u32,   // the chunk that x begins with
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

var<workgroup> means: array<vec4<f32>, WG>;
var<workgroup> m2s: array<vec4<f32>, WG>;

// pivots are those of the groups that a column's four channels belong to.
fn pivots(first: u32, column: u32) -> vec4<f32> {
    var v = vec4<f32>();
    for (var k = 0u; k < 4u; k++) {
        let g = min((4u * column + k) / params.size, params.G - 1u);
        let c = g * params.size;
        v[k] = load4(head[first + c / 4u])[c % 4u];
    }
    return v;
}

// measure takes the moments of the pixels begin, begin + step, ... below end;
// at is where the column starts in x.
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

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let rows = WG / params.C4;
    let row = local / params.C4;
    let column = local % params.C4;
    let frame = group.y * params.P * params.C4;
    let begin = group.x * params.chunk;
    let end = min(begin + params.chunk, params.P);
    if row < rows {
        let s = measure(params.x_at + frame + column, begin + row, end, rows, pivots(params.head_at + frame, column));
        means[local] = s.mean;
        m2s[local] = s.m2;
    }
    workgroupBarrier();

    let pixels = end - begin;
    for (var g = local; g < params.G; g += WG) {
        var sum = 0.0;
        for (var r = 0u; r < rows; r++) {
            let n = f32((pixels + rows - 1u - r) / rows); // 0 in an empty row
            for (var c = g * params.size; c < (g + 1u) * params.size; c++) {
                sum += n * means[r * params.C4 + c / 4u][c % 4u];
            }
        }
        let mean = sum / (f32(pixels) * f32(params.size));
        var m2 = 0.0;
        for (var r = 0u; r < rows; r++) {
            let n = f32((pixels + rows - 1u - r) / rows);
            for (var c = g * params.size; c < (g + 1u) * params.size; c++) {
                let i = r * params.C4 + c / 4u;
                let d = means[i][c % 4u] - mean;
                m2 += m2s[i][c % 4u] + n * d * d;
            }
        }
        partials[(group.y * params.G + g) * params.chunks + params.base + group.x] = vec2<f32>(mean, m2);
    }
}
