// conv_up_columns: conv_up.wgsl in columns of pixels, for processors
//
// Bindings and Params are those of conv_up.wgsl. One invocation makes PIXELS pixels of
// one parity, every other one of a column, in BLOCKS blocks of BLOCK output channels,
// see columns.wgsl.
//
// Sums are f32. Reference: ref/conv_up.go. Grid: (blocks/BLOCKS, columns, in rows
// padded to a multiple of 8, / WG, frames).

#import tile
#import elem
#import weight
#import conv_up_params
#import processors/weights_invocation
#import processors/conv_up_columns_main
