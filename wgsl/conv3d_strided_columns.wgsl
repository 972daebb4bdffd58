// conv3d_strided_columns: conv3d_strided.wgsl in columns of pixels, for processors whose compiler sees which addresses are the same for all
//
// The same y, x0 to x2, weight and bias. One invocation makes PIXELS pixels of a column
// in BLOCKS blocks of BLOCK output channels, as shared/columns.wgsl has it.
//
// Sums are f32. Reference: ref/conv3d.go.
// Grid: (C_out/BLOCK/BLOCKS, columns, of rows of a multiple of 8 / WG, frames).

#import conv3d_columns
