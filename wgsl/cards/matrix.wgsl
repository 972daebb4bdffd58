// Matrix products by subgroups: each of SUBGROUPS has sums of ROWS x COLUMNS matrices.
// Their operands and results pass through workgroup memory, 8 halves or 4 f32 per
// vec4<u32>. A row of DEPTH halves takes PITCH of these; the last one is idle, so that
// adjacent rows are in different banks.

enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;

alias Left = subgroup_matrix_left<f16, K, M>;
alias Right = subgroup_matrix_right<f16, N, K>;
alias Sum = subgroup_matrix_result<f32, N, M>;

const SUBGROUPS: u32 = DOWN * ACROSS;
const WIDE: u32 = COLUMNS * N; // channels of a subgroup
const DEPTH: u32 = 16;
const_assert DEPTH % K == 0u;
const_assert BLOCK == ACROSS * WIDE;
