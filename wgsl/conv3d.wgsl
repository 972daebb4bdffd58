// conv3d: y[f,r,s,o] = bias[o] + sum_{k,i,j,c} weight[o,c,k,i,j] * x_k[f, r+i+top, s+j+left, c]  (+ y[f,r,s,o])
//
// A causal 3x3xKT convolution of stride 1. Time is bound, not indexed: x0, x1,
// x2 are the frames that the first output frame's taps read (causal memory, a
// repeated first frame or earlier frames of the clip), and frame f of each
// follows f frames later. What lies outside of x in space is zero: top and left
// are -1 for a frame padded by one pixel, or say which part of it y is. With
// SCALE = 2 x stands for itself enlarged by nearest neighbour, which never exists.
//
//   x0 x1 x2  [frames, H_in, W_in, C_in]  elem    read        from x0_at, x1_at, x2_at on
//   weight    [C_out/BLOCK, taps, 3, C_in/4, 3, 4, BLOCK]  weight  read        ends: block, tap, row, input, column, input, output
//   bias      [C_out/BLOCK * BLOCK]       f32     read
//   y         [frames, H, W, C_out]       elem    read_write  from y_at on; aliases nothing; with
//                                                             ACCUMULATE it holds the residual
//
// Offsets *_at, x_stride and y_stride (between frames) and weight_stride
// (between blocks) count vec4s. With KT = 1 only x0 is read, with KT = 2 x0 and
// x1; weight_at is the first of these taps. One invocation makes PIXELS pixels of
// a row in BLOCK output channels and keeps the input pixels under them in
// registers for the row's 3 taps. Sums are f32. Reference: ref/conv3d.go. A
// workgroup is `across` of them side by side, WG/across blocks of channels deep,
// so that few pixels fill it too. WG, PIXELS and BLOCK are in conv3d.go.
// Grid: (segments of rows / across, C_out/BLOCK / (WG/across), frames).

#import conv3d
