// The output transform of a few sums, unrolled: in a loop each sum is written through a
// mask.

// begin sets all frames to the bias.
fn begin(made: ptr<function, Made>, block: u32) {
    var sums = Sums();
    start(&sums, block);
#unroll b BLOCKS
#unroll p PIXELS
#unroll h WIDE
    {
        const n = ({b}u * PIXELS + {p}u) * WIDE + {h}u;
        (*made)[n] = sums[n];
        (*made)[SUMS + n] = sums[n];
        (*made)[2u * SUMS + n] = sums[n];
        (*made)[3u * SUMS + n] = sums[n];
    }
#end
#end
#end
}

// give adds product k to the frames.
fn give(made: ptr<function, Made>, k: u32, sums: ptr<function, Sums>) {
    let to = params.shares[k];
#unroll b BLOCKS
#unroll p PIXELS
#unroll h WIDE
    {
        const n = ({b}u * PIXELS + {p}u) * WIDE + {h}u;
        (*made)[n] += to.x * (*sums)[n];
        (*made)[SUMS + n] += to.y * (*sums)[n];
        (*made)[2u * SUMS + n] += to.z * (*sums)[n];
        (*made)[3u * SUMS + n] += to.w * (*sums)[n];
    }
#end
#end
#end
}
