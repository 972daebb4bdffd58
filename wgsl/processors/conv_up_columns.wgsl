// conv_up_columns: conv_up.wgsl in columns of pixels, for processors
//
// The same y, x0 to x2, weight and bias, with the same Params. One invocation makes
// PIXELS pixels of one parity, every other one of a column, in BLOCKS blocks of BLOCK
// output channels, as columns.wgsl has it.
//
// Sums are f32. Reference: ref/conv_up.go.
// Grid: (blocks/BLOCKS, columns, of rows of a multiple of 8 / WG, frames).

#import tile
#import elem
#import weight
#import conv_up_params
#import processors/weights_invocation
#import processors/conv_up_columns_main
