// pointwise_tiled: pointwise.wgsl through workgroup memory, for NVIDIA's cards
//
// Bindings and Params are those of pointwise.wgsl. A workgroup makes LANES*PIXELS
// pixels in LANES blocks of BLOCK channels: each invocation makes PIXELS pixels in one
// block. For DEPTH vec4s of input channels the workgroup unpacks the pixels and weights
// of its tile once, with zeros for missing channels, and multiplies from there. Sums
// are f32. Reference: ref/conv3d.go. WG, PIXELS and BLOCK are in kernels.go. Grid:
// (P/PIXELS / LANES, C_out/BLOCK / LANES, frames).

#import tile
#import elem
#import pointwise_params
#import cards/tiles_f32
#import cards/pointwise_tiles
