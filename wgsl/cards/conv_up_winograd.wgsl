// conv_up_winograd: conv_up.wgsl with three temporal taps and one phase, two frames at
// once (cards/winograd.wgsl).
//
//   x0 .. x3  [pairs, H_in, W_in, C_in]  elem    read        from x0_at .. x3_at on: what the first pair reads
//   weight    [4, C_out/BLOCK, 4, 2, C_in/4, 2, 4, BLOCK]  weight  read  G0..G3 of winograd_weights.wgsl
//   bias      [4, C_out/BLOCK, 5, BLOCK]  f32    read        bias, then that of the four cells
//   y         [2*pairs, H, W, C_out]     elem    read_write  from y_at on; aliases nothing
//
// Offsets *_at, x_stride (between pairs), y_stride (between frames) and
// weight_stride (between blocks) count vec4s. Reference: ref/conv_up.go. WG, PIXELS
// and BLOCK are in kernels.go.
// Grid: (segments / across, blocks / (WG/across), pairs).

#import tile
#import elem
#import conv_up_winograd_params
#import cards/conv_up_winograd_main
#import cards/frames_fused
