// conv_pairs: y[2f+n,r,s,o] = bias[o] + sum_{k,i,j,c} W[o,c,k,i,j] * x_{n+k}[f, r+i+top, s+j+left, c]  (+ y[2f+n,r,s,o]), n = 0, 1
//
// conv3d.wgsl's convolution with three temporal taps of frames two by two
// (shared/pairs.wgsl).
//
//   x0 .. x3  [pairs, H_in, W_in, C_in]  elem    read        from x0_at .. x3_at on: what the first pair reads
//   weight    [C_out/BLOCK, 4, 3, C_in/4, 3, 4, BLOCK]  weight  read  G0..G3; ends: block, tap, row, input, column, input, output
//   bias      [C_out/BLOCK * BLOCK]      f32     read
//   y         [2*pairs, H, W, C_out]     elem    read_write  from y_at on; aliases nothing; with
//                                                            ACCUMULATE it holds the residual
//
// Offsets *_at, x_stride (between pairs), y_stride (between frames) and
// weight_stride (between blocks) count vec4s. Outside of x in space is zero. One
// invocation makes PIXELS pixels of a row in BLOCKS blocks of BLOCK output channels of
// both frames; sums are f32, and so are those of frames. Reference: ref/conv3d.go.
// WG, PIXELS, BLOCK and BLOCKS are in conv_pairs.go.
// Grid: (segments of rows / across, C_out/BLOCK/BLOCKS / (WG/across), pairs).

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    top: i32,
    left: i32,
    x0_at: u32,
    x1_at: u32,
    x2_at: u32,
    x3_at: u32,
    x_stride: u32,
    weight_stride: u32,
    y_at: u32,
    y_stride: u32,
    segments: u32,
    across: u32,
    accumulate: u32, // 1 as ACCUMULATE, where pipelines are SHARED
}

const SCALE: u32 = 1;
const BIASES: u32 = 1;

override ACCUMULATE: bool = false;

#import pairs
#import several

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

    var part = Part(i32(r) + params.top, columns(i32(s) + params.left), group.z * params.x_stride, mine.block * params.weight_stride);
    var even = Sums();
    var odd = Sums();
    start(&even, mine.block);
    frames(&even, &odd, &part);
    let pixel = r * params.W + s;
    if real {
        store(&even, 2u * group.z, pixel, (r + 1u) * params.W, mine.block);
        store(&odd, 2u * group.z + 1u, pixel, (r + 1u) * params.W, mine.block);
    }
}
