// conv_pairs_passes: conv_pairs.wgsl with one product after the other
//
// The same x0 to x3, weight, bias and y, with the same Params. Half as many sums are alive,
// and two frames are read twice: for AMD's compiler, which keeps no more in registers.
// Reference: ref/conv3d.go.

#import tile
#import elem
#import conv_pairs_params
#import cards/conv_pairs_main
#import cards/frames_passes
