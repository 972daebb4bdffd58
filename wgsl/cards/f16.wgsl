// Products of halves, two of which are one instruction on many cards. Products of a few
// channels are summed as halves, and these sums in f32, because longer sums of halves
// lose digits. Activations are read as words.

enable f16;

#import cards/weight8
#import sums

alias Parts = array<vec4<f16>, PIXELS * WIDE>; // sums of few products, [pixel][vec4s of output channels]

// add_halves adds the products of one channel of pixel p.
fn add_halves(parts: ptr<function, Parts>, p: u32, v: f16, m: vec4<u32>) {
    (*parts)[WIDE * p] += v * bitcast<vec4<f16>>(m.xy);
    (*parts)[WIDE * p + 1u] += v * bitcast<vec4<f16>>(m.zw);
}

// total adds the parts to the sums.
fn total(sums: ptr<function, Sums>, parts: ptr<function, Parts>) {
    for (var n = 0u; n < PIXELS * WIDE; n++) { (*sums)[n] += vec4<f32>((*parts)[n]); }
}
