// Sums in registers, for PIXELS pixels of y in a block of BLOCK output channels. The
// kernel declares params, with across and y_at; y and bias; BIASES, vectors of bias for
// a block; ACCUMULATE, if y holds values to add to; and place(f, pixel, o), the offset
// of channels 4*o to 4*o+3 in y.

override DEEP: bool = false;   // a workgroup is narrower than WG segments
override ROLLED: bool = false; // keep the store's loop, do not unroll it

const_assert WIDE == 2u; // vec4s of a block

alias Sums = array<vec4<f32>, PIXELS * WIDE>; // [pixel][vec4s of output channels]

// Seat is an invocation's place in the grid.
struct Seat {
    segment: u32,
    block: u32,
}

// seat returns the place in segmentGrid. If a workgroup is one block deep, the compiler
// detects that the block is uniform, and loads its weights once for all invocations.
fn seat(group: vec3<u32>, local: u32) -> Seat {
    if DEEP {
        return Seat(group.x * params.across + local % params.across, group.y * (WG / params.across) + local / params.across);
    }
    return Seat(group.x * WG + local, group.y);
}

// start sets the sums to the bias.
fn start(sums: ptr<function, Sums>, block: u32) {
    let b0 = bias[BIASES * block * WIDE];
    let b1 = bias[BIASES * block * WIDE + 1u];
#loop p PIXELS
    (*sums)[{p} * WIDE] = b0;
    (*sums)[{p} * WIDE + 1u] = b1;
#end
}

// store writes the pixels of frame f from `pixel` on, up to `end`. The loop has a
// constant length with the bound inside, because compilers of cards otherwise keep the
// sums in memory. On processors memory is faster, so ROLLED has a variable length.
fn store(sums: ptr<function, Sums>, f: u32, pixel: u32, end: u32, block: u32) {
#loop p PIXELS && (!ROLLED || pixel + {p} < end)
#loop h WIDE
    let o = block * WIDE + {h};
    if pixel + {p} < end {
        put((*sums)[{p} * WIDE + {h}], place(f, pixel + {p}, o), o);
    }
#end
#end
}

// put writes the four channels o of a pixel.
fn put(sum: vec4<f32>, place: u32, o: u32) {
    if o < params.C_out4 {
        let at = params.y_at + place;
        var all = sum;
        if ACCUMULATE { all += load4(y[at]); }
        y[at] = store4(all);
    }
}
