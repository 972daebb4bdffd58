// conv3d_cooperative: conv3d.wgsl with weights loaded by a subgroup together
//
// Bindings and Params are those of conv3d.wgsl; output channels are in BLOCKS blocks. A
// subgroup of eight loads its common weights once. Mesa's driver before 26 loads for
// one invocation after the other unless it detects that the address is
// subgroup-uniform. Sums are f32. Reference: ref/conv3d.go. WG, PIXELS, BLOCK and
// BLOCKS are in kernels.go.

#import tile
#import elem
#import weight
#import conv3d_params
#import processors/weights_subgroup8
#import processors/multiply_loops
#import processors/load_row_unrolled
#import processors/conv3d_main
