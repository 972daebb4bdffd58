// conv3d_tiled: conv3d.wgsl through workgroup memory, for NVIDIA's cards
//
// Bindings and Params are those of conv3d.wgsl. A workgroup makes LANES segments of a
// row, PIXELS wide, in LANES blocks of BLOCK channels: each invocation makes one
// segment in one block. For each row of taps and four input channels the workgroup
// unpacks the pixels and weights under its tile once, with zeros outside of x, and
// multiplies from there. So it handles addresses, bounds and halves once per workgroup
// instead of once per invocation. Sums are f32. Reference: ref/conv3d.go. WG, PIXELS
// and BLOCK are in kernels.go. Grid: (segments / LANES, C_out/BLOCK / LANES, frames).

#import tile
#import elem
#import conv3d_params
#import cards/tiles_f32
#import cards/conv3d_tiles
