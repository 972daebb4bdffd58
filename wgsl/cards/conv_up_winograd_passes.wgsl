// conv_up_winograd_passes: conv_up_winograd.wgsl with one product after the other
//
// Bindings and Params are those of conv_up_winograd.wgsl. Half as many sums are live,
// and two frames are read twice: AMD's compiler keeps no more sums in registers.
// Reference: ref/conv_up.go.

#import tile
#import elem
#import conv_up_winograd_params
#import cards/conv_up_winograd_main
#import cards/frames_passes
