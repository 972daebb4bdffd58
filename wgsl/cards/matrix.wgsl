// Products of matrices by subgroups: sums of ROWS x COLUMNS matrices in each of
// SUBGROUPS of them. What they multiply and store lies in workgroup memory, 8
// halves or 4 f32 a vec4<u32>; a row of DEPTH halves takes PITCH of these, of
// which the last is idle so that rows next to each other lie in other banks.

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
