// conv3d_winograd_passes: conv3d_winograd.wgsl with one product after the other
//
// Bindings and Params are those of conv3d_winograd.wgsl. Half as many sums are live,
// and two frames are read twice: AMD's compiler keeps no more sums in registers.
// Reference: ref/conv3d.go.

#import tile
#import elem
#import conv3d_winograd_params
#import cards/conv3d_winograd_main
#import cards/frames_passes
