// conv3d_cooperative4: conv3d.wgsl with weights loaded by a subgroup together
//
// Bindings and Params are those of conv3d.wgsl; output channels are in BLOCKS blocks. A
// subgroup of four loads its common weights once. Loops are unrolled in the text,
// because SwiftShader unrolls none. Sums are f32. Reference: ref/conv3d.go. WG, PIXELS,
// BLOCK and BLOCKS are in kernels.go.

#import tile
#import elem
#import weight
#import conv3d_params
#import processors/weights_subgroup4
#import processors/multiply_unrolled
#import processors/load_row_loop
#import processors/conv3d_main
