// pointwise_tiled_f16: pointwise_tiled.wgsl with products of halves, for activations stored as f16
//
// Workgroup memory holds halves. Products of DEPTH vec4s of input channels are summed
// as halves, these sums in f32. Reference: ref/conv3d.go.

#import tile
#import elem
#import pointwise_params
#import cards/tiles_f16
#import cards/pointwise_tiles
