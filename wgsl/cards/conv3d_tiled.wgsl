// conv3d_tiled: conv3d.wgsl through workgroup memory, for NVIDIA's cards
//
// The same y, x0 to x2, weight and bias, with the same Params. A workgroup makes
// LANES segments of a row, PIXELS wide, in LANES blocks of BLOCK channels, one of
// each per invocation. For each row of taps and four input channels it unpacks
// the pixels and weights under its tile once, with zeros where there is no
// pixel, and multiplies from there: addresses, bounds and halves are dealt with
// once a workgroup and not once an invocation. Sums are f32. Reference:
// ref/conv3d.go. WG, PIXELS and BLOCK are in kernels.go.
// Grid: (segments / LANES, C_out/BLOCK / LANES, frames).

#import tile
#import elem
#import conv3d_params
#import cards/tiles_f32
#import cards/conv3d_tiles
