// conv3d_strided_matrix: conv3d_strided.wgsl by subgroup matrices, for activations stored as f16
//
// The same y, x0 to x2 and bias, with the same Params and weight as conv3d_matrix.wgsl,
// computed as there but for what lies in workgroup memory, which has no room for all
// pixels under as many of y: those under one row of taps, columns that are even before
// those that are odd. So the pixels under a tap lie side by side, as there. Sums are
// f32. Reference: ref/conv3d.go. WG and the sizes of matrices are in matrix.go.
// Grid: (segments of M pixels x H/TALL, C_out/BLOCK, frames).

#import conv3d_matrix
