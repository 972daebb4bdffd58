// Whether sums of temporal taps are added to y. For a pipeline that many layers share
// (SHARED), because it takes seconds to compile, this is in params.

// accumulates reports whether y holds sums to add to.
fn accumulates() -> bool { return select(ACCUMULATE, params.accumulate != 0u, SHARED); }

// biased reports whether the bias is not yet added.
fn biased() -> bool { return !SHARED || params.accumulate < 2u; }
