// quantise: y = floor(127 x / m + 1/2) in 8 bits, m = max |x| of a channel in a row; 0 where m < 1e-30
//
//   x  [H, W, C]        elem  read        from x_at (vec4s) on
//   y  [H, (W + 4) C]   u32   read_write  from y_at (words) on: of each row m as f32, then its pixels, four int8 a word
//
// One invocation per row and four channels. Reference: ref/quantise.go.
// Grid: (H * C/4 / WG, 1, 1). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    H: u32,
    W: u32,
    C4: u32,
    x_at: u32,
    y_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<elem4>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = (workgroup.x + params.first.x) * WG + local;
    let C4 = params.C4;
    let row = i / C4;
    if row >= params.H { return; }
    let c4 = i % C4;
    let x_row = params.x_at + row * params.W * C4 + c4;
    var m = vec4<f32>();
    for (var w = 0u; w < params.W; w++) { m = max(m, abs(load4(x[x_row + w * C4]))); }
    var y_row = params.y_at + row * (params.W + 4u) * C4;
#loop k 4
    y[y_row + 4u * c4 + {k}] = bitcast<u32>(m[{k}]);
#end
    let scale = select(127.0 / m, vec4<f32>(), m < vec4<f32>(1e-30));
    y_row += 4u * C4 + c4;
    for (var w = 0u; w < params.W; w++) {
        let q = vec4<i32>(floor(load4(x[x_row + w * C4]) * scale + 0.5));
        let bytes = bitcast<vec4<u32>>(q) & vec4<u32>(255u);
        y[y_row + w * C4] = bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
    }
}
