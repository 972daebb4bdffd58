// The output transform of few sums, unrolled: in a loop each sum would be written through a
// mask.

// begin has the bias in all frames.
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
