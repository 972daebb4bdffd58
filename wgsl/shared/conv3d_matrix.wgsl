// Where the tiles of conv3d_matrix.wgsl and conv3d_strided_matrix.wgsl lie.

#import conv3d_params
#import conv_matrix

fn wide() -> u32 { return params.W; }

fn corner(group: vec3<u32>, r: u32, s: u32) -> Corner {
    return Corner(i32(STRIDE * r) + params.top, i32(STRIDE * s) + params.left, group.y * params.weight_stride);
}

fn finish(group: vec3<u32>, r: u32, s: u32, part: u32, sum: vec4<f32>) {
    let o = group.y * BLOCK / 4u + part;
    if r >= params.H || s >= params.W || o >= params.C_out4 {
        return;
    }
    var v = sum + bias[o];
    let at = params.y_at + place(group.z, r * params.W + s, o);
    if ACCUMULATE {
        v += load4(y[at]);
    }
    y[at] = store4(v);
}
