// pointwise_blocked: pointwise.wgsl in several blocks of channels
//
// The same x0 to x2, weight, bias and y, with the same Params, in BLOCKS blocks of output
// channels. Sums are f32. Reference: ref/conv3d.go. WG, PIXELS,
// BLOCK and BLOCKS are in kernels.go.

#import tile
#import elem
#import weight
#import pointwise_params
#import processors/weights_invocation
#import processors/pointwise_main
