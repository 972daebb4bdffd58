// Whether sums of temporal taps are added to y. It is in params for a pipeline that many
// layers share (SHARED), because it takes seconds to compile.

// accumulates says whether y holds what is added to.
fn accumulates() -> bool { return select(ACCUMULATE, params.accumulate != 0u, SHARED); }

// biased says whether the bias is still to be added.
fn biased() -> bool { return !SHARED || params.accumulate < 2u; }
