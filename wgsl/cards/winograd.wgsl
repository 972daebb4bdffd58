// Two frames at once by Winograd's F(2,3) in time: bindings and sums of the kernels.
// From four frames d0..d3 and the taps W0..W2, with G0 = W0, G1 = (W0+W1+W2)/2, G2 =
// (W0-W1+W2)/2 and G3 = W2 of winograd_weights.wgsl, the output frames are m0 + m1 + m2
// and m1 - m2 - m3, where m0 = (d0-d2)*G0, m1 = (d1+d2)*G1, m2 = (d2-d1)*G2 and m3 =
// (d1-d3)*G3: four products instead of six. The kernel declares Params and imports
// frames(), cards/frames_*.wgsl.

#import rows

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
