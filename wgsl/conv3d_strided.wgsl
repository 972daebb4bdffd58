// conv3d_strided: y[f,r,s,o] = bias[o] + sum_{k,i,j,c} weight[o,c,k,i,j] * x_k[f, 2r+i+top, 2s+j+left, c]
//
// The downsampling convolution: 3x3xKT, stride 2 in space. Everything else is
// as in conv3d.wgsl: with top and left 0, a frame is padded by one pixel of
// zeros on the right and at the bottom only; a temporal stride of 2 is an
// x_stride of two frames.
//
//   x0 x1 x2  [frames, H_in, W_in, C_in]  elem    read        from x0_at, x1_at, x2_at on
//   weight    [C_out/BLOCK, taps, 3, C_in/4, 3, 4, BLOCK]  weight  read
//   bias      [C_out/BLOCK * BLOCK]       f32     read
//   y         [frames, H, W, C_out]       elem    read_write  from y_at on; aliases nothing
//
// One invocation makes PIXELS pixels of a row in BLOCK output channels from
// input pixels kept in registers. Sums are f32. Reference: ref/conv3d.go. WG,
// PIXELS and BLOCK are in conv3d.go.
// Grid: (segments of rows / across, C_out/BLOCK / (WG/across), frames).

#import conv3d
