// conv_up_columns_cooperative: conv_up_columns.wgsl with weights loaded by a subgroup of eight together
//
// For Mesa's driver before 26, which loads what it can't see to be the same for all one
// invocation after the other. Reference: ref/conv_up.go.

#import tile
#import elem
#import weight
#import conv_up_params
#import processors/weights_subgroup8
#import processors/conv_up_columns_main
