// pointwise_tiled: pointwise.wgsl through workgroup memory, for NVIDIA's cards
//
// The same y, x0 to x2, weight and bias, with the same Params. A workgroup makes
// LANES*PIXELS pixels in LANES blocks of BLOCK channels, a block of PIXELS pixels
// per invocation. For DEPTH vec4s of input channels at a time it unpacks the
// pixels and weights of its tile once, with zeros where there is no channel, and
// multiplies from there. Sums are f32. Reference: ref/conv3d.go. WG, PIXELS and
// BLOCK are in kernels.go.
// Grid: (P/PIXELS / LANES, C_out/BLOCK / LANES, frames).

#import tile
#import elem
#import pointwise_params
#import cards/tiles_f32
#import cards/pointwise_tiles
