// conv_pairs_ahead: y[n,r,s,o] = bias[o] + sum_k A[n,k] * sum_{i,j,c} G[o,c,k,i,j] * x[k, r+i+top, s+j+left, c]  (+ y[n,r,s,o]), n = 0, 1
//
// conv_pairs.wgsl's pair of frames, of sums of frames that pair_frames.wgsl has made:
// each is read once, in one loop for all four products, which is as fast as that of
// one temporal tap, and no longer to compile. A is 1, 1, 1, 0 and 0, 1, -1, -1.
//
//   x         [4, H_in, W_in, C_in]      f32     read        d0-d2, d1+d2, d2-d1, d1-d3
//   weight    [C_out/BLOCK, 4, 3, C_in/4, 3, 4, BLOCK]  weight  read  G0..G3; ends: block, tap, row, input, column, input, output
//   bias      [C_out/BLOCK * BLOCK]      f32     read
//   y         [2, H, W, C_out]           elem    read_write  from y_at on; aliases nothing; with
//                                                            ACCUMULATE it holds the residual
//
// Offset y_at, x_stride (between sums), y_stride (between frames) and weight_stride
// (between blocks) count vec4s. Outside of x in space is zero. One invocation makes
// PIXELS pixels of a row in BLOCKS blocks of BLOCK output channels of both frames; sums
// are f32. Reference: ref/conv3d.go. WG, PIXELS, BLOCK and BLOCKS are in
// conv_pairs_ahead.go.
// Grid: (segments of rows / across, C_out/BLOCK/BLOCKS / (WG/across), 1).

#import tile
#import elem
#import weight
#import products
#import rows
#import several

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    top: i32,
    left: i32,
    x_stride: u32,
    weight_stride: u32,
    y_at: u32,
    y_stride: u32,
    segments: u32,
    across: u32,
    accumulate: u32, // 1 as ACCUMULATE, of kernels of several blocks
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<weight4>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> y: array<elem4>;

const SCALE: u32 = 1;
const BIASES: u32 = 1;

override ACCUMULATE: bool = false;

fn place(f: u32, pixel: u32, o: u32) -> u32 {
    return f * params.y_stride + pixel * params.C_out4 + o;
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let real = mine.segment < params.segments && WIDE * mine.block < params.C_out4;
    if !TOGETHER && !real { return; }
    ready();
    let segment = min(mine.segment, params.segments - 1u);
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = segment / per_row;
    let s = (segment % per_row) * PIXELS;

    var column = columns(i32(s) + params.left);
    var even = Sums();
    start(&even, mine.block);
    var odd = even;
    for (var k = 0u; k < 4u; k++) {
        var sums = Sums();
        for (var i = 0u; i < TAPS; i++) {
            let r_in = i32(r + i) + params.top;
            let r_at = clamp(r_in, 0, i32(params.H_in) - 1);
            if !TOGETHER && r_in != r_at { continue; }
            let here = !TOGETHER || r_in == r_at;
            let line = k * params.x_stride + u32(r_at) * params.W_in * params.C_in4;
            let weights = mine.block * params.weight_stride + (k * TAPS + i) * params.C_in4 * TAPS * MATRIX;
            for (var c = 0u; c < params.C_in4; c++) {
                var row = Row();
#each q
                row[{q}] = select(vec4<f32>(), x[line + c + column.at[{q}]], column.inside[{q}] && here);
#end
                multiply(&sums, &row, weights + c * TAPS * MATRIX);
            }
        }
        let a = select(1.0, 0.0, k == 3u);
        let b = select(select(-1.0, 1.0, k == 1u), 0.0, k == 0u);
        for (var n = 0u; n < BLOCKS * PIXELS * WIDE; n++) {
            even[n] += a * sums[n];
            odd[n] += b * sums[n];
        }
    }
    let pixel = r * params.W + s;
    if real {
        store(&even, 0u, pixel, (r + 1u) * params.W, mine.block);
        store(&odd, 1u, pixel, (r + 1u) * params.W, mine.block);
    }
}
