// What sums of temporal taps are added to. Kernels of several blocks have that in params,
// so that one pipeline does for all: on processors it takes seconds to compile.

// accumulates says whether y holds what is added to.
fn accumulates() -> bool { return select(ACCUMULATE, params.accumulate != 0u, BLOCKS > 1u); }

// biased says whether the bias is still to be added.
fn biased() -> bool { return BLOCKS == 1u || params.accumulate < 2u; }
