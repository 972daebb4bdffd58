// What sums of temporal taps are added to. Where one pipeline is SHARED by many layers,
// since it takes seconds to compile, params have that.

// accumulates says whether y holds what is added to.
fn accumulates() -> bool { return select(ACCUMULATE, params.accumulate != 0u, SHARED); }

// biased says whether the bias is still to be added.
fn biased() -> bool { return !SHARED || params.accumulate < 2u; }
