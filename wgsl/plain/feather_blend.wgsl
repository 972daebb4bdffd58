// feather_blend: canvas[t, y0+y, x0+x, :] += (wy[y]*wx[x]) * tile[t, y, x, :] for y < rows, x < columns
//
//   tile    [T, H_tile, W_tile, C]  elem  read        from tile_at (vec4s) on; cropped to rows x columns
//   wy      [rows]                  f32   read
//   wx      [columns]               f32   read
//   canvas  [T, H, W, C]            f32   read_write  from canvas_at (vec4s) on; aliases nothing
//
// One invocation per pixel of the cropped tile and four channels. Tiles that
// overlap are added by separate dispatches, in their order.
// Reference: ref/feather.go. Grid: (columns * C/4 / WG, rows, T). WG is in kernels.go.

#import tile
#import elem

struct Params {
    first: vec4<u32>,
    C4: u32,
    H_tile: u32,
    W_tile: u32,
    columns: u32,
    H: u32,
    W: u32,
    y0: u32,
    x0: u32,
    tile_at: u32,
    canvas_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> tile: array<elem4>;
@group(0) @binding(2) var<storage, read> wy: array<f32>;
@group(0) @binding(3) var<storage, read> wx: array<f32>;
@group(0) @binding(4) var<storage, read_write> canvas: array<vec4<f32>>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let i = group.x * WG + local;
    if i >= params.columns * params.C4 { return; }
    let y = group.y;
    let t = group.z;
    let weight = wy[y] * wx[i / params.C4];
    let i_tile = (t * params.H_tile + y) * params.W_tile * params.C4 + i;
    let i_canvas = ((t * params.H + params.y0 + y) * params.W + params.x0) * params.C4 + i;
    canvas[params.canvas_at + i_canvas] += weight * load4(tile[params.tile_at + i_tile]);
}
