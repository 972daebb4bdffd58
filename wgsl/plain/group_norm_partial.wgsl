// group_norm_partial: mean and M2 = sum((x - mean)^2) of a chunk of pixels, for every frame and group
//
//   x         [T, P, C]       elem  read        from x_at (vec4s) on; all pixels, or those of some chunks of a frame
//   head      [T, P, C]       elem  read        from head_at on, the same with the first pixel of a frame
//   partials  [T, G, chunks]  vec2  read_write  (mean - pivot, M2); aliases nothing
//
// The pivot of a group is its first channel in pixel 0 of the frame. Moments are those
// of x - pivot, so that a mean far larger than the deviation does not cost precision.
// Invocations are laid out as [rows, C/4]: each handles four channels of every rows-th
// pixel, in batches of four that are merged as in Chan et al. Then one invocation per
// group merges the rows and the group's channels, means first. C is at most 1024.
// Reference: ref/group_norm.go. Grid: (chunks, T). WG is in kernels.go.

#import tile
#import elem

#import group_norm_moments

var<workgroup> means: array<vec4<f32>, WG>;
var<workgroup> m2s: array<vec4<f32>, WG>;

// pivots returns the pivots of the groups of a column's four channels.
fn pivots(first: u32, column: u32) -> vec4<f32> {
    var v = vec4<f32>();
#loop k 4
    let g = min((4u * column + {k}) / params.size, params.G - 1u);
    let c = g * params.size;
    v[{k}] = load4(head[first + c / 4u])[c % 4u];
#end
    return v;
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
