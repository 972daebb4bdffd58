// conv3d_winograd: y[2f+n,r,s,o] = bias[o] + sum_{k,i,j,c} W[o,c,k,i,j] * x_{n+k}[f, r+i+top, s+j+left, c]  (+ y[2f+n,r,s,o]), n = 0, 1
//
// The convolution of conv3d.wgsl with three temporal taps, two frames at once
// (cards/winograd.wgsl).
//
//   x0 .. x3  [pairs, H_in, W_in, C_in]  elem    read        from x0_at .. x3_at on: what the first pair reads
//   weight    [C_out/BLOCK, 4, 3, C_in/4, 3, 4, BLOCK]  weight  read  G0..G3; ends: block, tap, row, input, column, input, output
//   bias      [C_out/BLOCK * BLOCK]      f32     read
//   y         [2*pairs, H, W, C_out]     elem    read_write  from y_at on; aliases nothing; with
//                                                            ACCUMULATE it holds the residual
//
// Offsets *_at, x_stride (between pairs), y_stride (between frames) and weight_stride
// (between blocks) count vec4s. Pixels outside of x are zero. One invocation makes
// PIXELS pixels of a row in BLOCK output channels of both frames. Sums of products and
// of frames are f32. Reference: ref/conv3d.go. WG, PIXELS and BLOCK are in kernels.go.
// Grid: (segments of rows / across, C_out/BLOCK / (WG/across), pairs).

#import tile
#import elem
#import conv3d_winograd_params
#import cards/conv3d_winograd_main
#import cards/frames_fused
