// conv3d_strided_staged: conv3d_strided.wgsl through workgroup memory, for NVIDIA's cards
//
// The same y, x0 to x2, weight and bias, with the same Params, computed as
// conv3d_staged.wgsl does. Sums are f32. Reference: ref/conv3d.go. WG, PIXELS and
// BLOCK are in conv3d.go.
// Grid: (segments / LANES, C_out/BLOCK / LANES, frames).

#import conv3d_staged

const STRIDE: u32 = 2;
