// winograd_outputs_unrolled.wgsl in loops, for more sums: their unrolled text takes many
// times as long to compile.

// begin sets all frames to the bias.
fn begin(made: ptr<function, Made>, block: u32) {
    var sums = Sums();
    start(&sums, block);
    for (var n = 0u; n < SUMS; n++) {
        (*made)[n] = sums[n];
        (*made)[SUMS + n] = sums[n];
        (*made)[2u * SUMS + n] = sums[n];
        (*made)[3u * SUMS + n] = sums[n];
    }
}

// give adds product k to the frames.
fn give(made: ptr<function, Made>, k: u32, sums: ptr<function, Sums>) {
    let to = params.shares[k];
    for (var n = 0u; n < SUMS; n++) {
        (*made)[n] += to.x * (*sums)[n];
        (*made)[SUMS + n] += to.y * (*sums)[n];
        (*made)[2u * SUMS + n] += to.z * (*sums)[n];
        (*made)[3u * SUMS + n] += to.w * (*sums)[n];
    }
}
