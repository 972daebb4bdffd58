// Two frames at once by Winograd's F(2,3) in time, as in cards/winograd.wgsl, in BLOCKS
// blocks of output channels. The kernel declares Params and imports
// frames_unrolled.wgsl.

#import processors/products
#import processors/rows

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> x3: array<elem4>;
@group(0) @binding(5) var<storage, read> weight: array<weight4>;
@group(0) @binding(6) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> y: array<elem4>;

// Part is the input of an invocation: the first row, the columns, the frames' offset,
// and the offset of its block's weights.
struct Part {
    row: i32,
    column: Columns,
    frame: u32,
    weights: u32,
}
