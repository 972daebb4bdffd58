// conv_up_pairs: conv_up.wgsl's convolution with three temporal taps and one phase,
// of frames two by two (shared/pairs.wgsl).
//
//   x0 .. x3  [pairs, H_in, W_in, C_in]  elem    read        from x0_at .. x3_at on: what the first pair reads
//   weight    [4, C_out/BLOCK, 4, 2, C_in/4, 2, 4, BLOCK]  weight  read  G0..G3 of pair_taps.wgsl
//   bias      [4, C_out/BLOCK, 5, BLOCK]  f32    read        bias, then that of the four cells
//   y         [2*pairs, H, W, C_out]     elem    read_write  from y_at on; aliases nothing
//
// Offsets *_at, x_stride (between pairs), y_stride (between frames) and
// weight_stride (between blocks) count vec4s. Reference: ref/conv_up.go. WG, PIXELS
// and BLOCK are in conv_up_pairs.go.
// Grid: (segments / across, blocks / (WG/across), pairs).

struct Params {
    first: vec4<u32>,
    H_in: u32,
    W_in: u32,
    H: u32,
    W: u32,
    C_in4: u32,
    C_out4: u32,
    blocks: u32, // of a parity
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
}

fn accumulates() -> bool { return false; }
fn biased() -> bool { return true; }

#import pairs
#import conv_up

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let mine = seat(group, local);
    let to = spot(mine.segment, mine.block);
    let real = mine.segment < params.segments && to.phase < 4u && to.r < params.H && to.pixel < to.end;
    if !TOGETHER && !real { return; }
    ready();

    var cells = columns(to.column);
    var part = Part(to.row, cells, group.z * params.x_stride, to.block * params.weight_stride);
    var even = Sums();
    var odd = Sums();
    start(&even, to.block);
    add_cells(&even, &cells, to);
    frames(&even, &odd, &part);
    let at = 2u * group.z * params.y_stride + (to.r * params.W + to.s0) * params.C_out4;
    if real {
        store(&even, at, to.pixel, to.end, to.block % params.blocks);
        store(&odd, at + params.y_stride, to.pixel, to.end, to.block % params.blocks);
    }
}
