// conv_up_columns_cooperative: conv_up_columns.wgsl with weights loaded by a subgroup of eight together
//
// Mesa's driver before 26 loads for one invocation after the other unless it detects
// that the address is subgroup-uniform. Reference: ref/conv_up.go.

#import tile
#import elem
#import weight
#import conv_up_params
#import processors/weights_subgroup8
#import processors/conv_up_columns_main
