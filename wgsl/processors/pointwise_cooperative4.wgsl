// pointwise_cooperative4: pointwise.wgsl with weights loaded by a subgroup together
//
// Bindings and Params are those of pointwise.wgsl. A subgroup of four loads its common
// weights once. Loops are unrolled in the text, because SwiftShader unrolls none. Sums
// are f32. Reference: ref/conv3d.go. WG, PIXELS, BLOCK and BLOCKS are in kernels.go.

#import tile
#import elem
#import weight
#import pointwise_params
#import processors/weights_subgroup4
#import processors/pointwise_main
