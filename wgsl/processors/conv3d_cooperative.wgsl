// conv3d_cooperative: conv3d.wgsl with weights loaded by a subgroup together
//
// The same x0 to x2, weight, bias and y, with the same Params, in BLOCKS blocks of output
// channels. A subgroup of eight loads weights once for all of it, for Mesa's driver before 26,
// which loads what it can't see to be the same for all one invocation after the other. Sums are f32. Reference: ref/conv3d.go. WG, PIXELS,
// BLOCK and BLOCKS are in kernels.go.

#import tile
#import elem
#import weight
#import conv3d_params
#import processors/weights_subgroup8
#import processors/multiply_loops
#import processors/load_row_unrolled
#import processors/conv3d_main
