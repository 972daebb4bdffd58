// conv_up_winograd_passes: conv_up_winograd.wgsl with one product after the other
//
// The same x0 to x3, weight, bias and y, with the same Params. Half as many sums are alive,
// and two frames are read twice: for AMD's compiler, which keeps no more in registers.
// Reference: ref/conv_up.go.

#import tile
#import elem
#import conv_up_winograd_params
#import cards/conv_up_winograd_main
#import cards/frames_passes
