// group_norm_partial_by_group: mean and M2 = sum((x - mean)^2) of a chunk of pixels, for every frame and group
//
//   x         [T, P, C]       elem  read        from x_at (vec4s) on; all pixels, or those of some chunks of a frame
//   head      [T, P, C]       elem  read        from head_at on, the same with the first pixel of a frame
//   partials  [T, G, chunks]  vec2  read_write  (mean - pivot, M2); aliases nothing
//
// The moments of group_norm_partial.wgsl without barriers. Barriers are slow on
// processors, because at each one the compiled code suspends an invocation and
// continues with the next. One invocation goes through one group's columns of four
// channels and merges them as in Chan et al. Channels of a column that belong to
// another group have weight zero. Reference: ref/group_norm.go. Grid: (chunks * G / WG,
// T). WG is in kernels.go.

#import tile
#import elem
#import group_norm_moments

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    let g = i % params.G;
    let chunk = i / params.G;
    let begin = chunk * params.chunk;
    if begin >= params.P { return; }
    let end = min(begin + params.chunk, params.P);
    let frame = group.y * params.P * params.C4;
    let c = g * params.size;
    let pivot = vec4<f32>(load4(head[params.head_at + frame + c / 4u])[c % 4u]);

    let n = f32(end - begin);
    var count = 0.0;
    var mean = 0.0;
    var m2 = 0.0;
    for (var column = c / 4u; 4u * column < c + params.size; column++) {
        let s = measure(params.x_at + frame + column, begin, end, 1u, pivot);
        let channel = 4u * column + vec4<u32>(0u, 1u, 2u, 3u);
        let weight = select(vec4<f32>(), vec4<f32>(1.0), (channel >= vec4<u32>(c)) & (channel < vec4<u32>(c + params.size)));
        let channels = dot(weight, vec4<f32>(1.0));
        let here = dot(weight, s.mean) / channels;
        let d = s.mean - here;
        let delta = here - mean;
        let part = channels / (count + channels);
        mean += delta * part;
        m2 += dot(weight, s.m2 + n * d * d) + n * delta * delta * (count * part);
        count += channels;
    }
    partials[(group.y * params.G + g) * params.chunks + params.base + chunk] = vec2<f32>(mean, m2);
}
