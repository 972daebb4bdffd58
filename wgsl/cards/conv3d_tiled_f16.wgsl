// conv3d_tiled_f16: conv3d_tiled.wgsl with products of halves, for activations stored as f16
//
// Workgroup memory holds halves. Products of three taps and four input channels are
// summed as halves, these sums in f32. Reference: ref/conv3d.go.

#import tile
#import elem
#import conv3d_params
#import cards/tiles_f16
#import cards/conv3d_tiles
