// pointwise_blocked: pointwise.wgsl in several blocks of channels
//
// Bindings and Params are those of pointwise.wgsl; output channels are in BLOCKS
// blocks. Sums are f32. Reference: ref/conv3d.go. WG, PIXELS, BLOCK and BLOCKS are in
// kernels.go.

#import tile
#import elem
#import weight
#import pointwise_params
#import processors/weights_invocation
#import processors/pointwise_main
