// pointwise_cooperative4: pointwise.wgsl with weights loaded by a subgroup together
//
// The same x0 to x2, weight, bias and y, with the same Params. A subgroup of four
// loads weights once for all of it; loops are written out, since
// SwiftShader unrolls none. Sums are f32. Reference: ref/conv3d.go. WG, PIXELS,
// BLOCK and BLOCKS are in kernels.go.

#import tile
#import elem
#import weight
#import pointwise_params
#import processors/weights_subgroup4
#import processors/pointwise_main
