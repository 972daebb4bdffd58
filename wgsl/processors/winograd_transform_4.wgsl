// The input transform of Winograd's F(4,3) at the points 0, 3/4, -3/4, 3/2, -3/2 and
// infinity, in that order: the six sums of six frames, or pixels of a row, d that are
// multiplied by the weights of winograd_weights_4.wgsl. With a = 3/4 and b = 3/2 they
// are
//
//   d4 - (a^2+b^2) d2 + a^2 b^2 d0
//   (d4 - b^2 d2) + a (d3 - b^2 d1), and - in place of +
//   (d4 - a^2 d2) + b (d3 - a^2 d1), and - in place of +
//   d5 - (a^2+b^2) d3 + a^2 b^2 d1
//
// With these points, four frames at once are nearly as exact as separate frames
// (measured on the page in kernels.go).

fn six(d0: vec4<f32>, d1: vec4<f32>, d2: vec4<f32>, d3: vec4<f32>, d4: vec4<f32>, d5: vec4<f32>) -> array<vec4<f32>, 6> {
    let even_a = d4 - 2.25 * d2;
    let odd_a = 0.75 * (d3 - 2.25 * d1);
    let even_b = d4 - 0.5625 * d2;
    let odd_b = 1.5 * (d3 - 0.5625 * d1);
    return array<vec4<f32>, 6>(
        even_b - 2.25 * d2 + 1.265625 * d0,
        even_a + odd_a, even_a - odd_a,
        even_b + odd_b, even_b - odd_b,
        d5 - 2.8125 * d3 + 1.265625 * d1,
    );
}
