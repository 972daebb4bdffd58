// matrix: 8 sums of products of matrices a subgroup, sum = left*right + sum STEPS
// times over: what it measures is the matrix units alone. Each workgroup writes
// its last subgroup's sums, and how many subgroups it has.
//
//   a  [2, M, K]              f16  read        left
//   b  [4, K, N]              f16  read        right
//   y  [workgroups, 8, M, N]  f32  read_write  sum i of left i/4 and right i%4, times STEPS
//   n  [workgroups]           u32  read_write
//
// LANES is the adapter's largest subgroup: some run smaller ones.

enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;

alias left = subgroup_matrix_left<f16, K, M>;
alias right = subgroup_matrix_right<f16, N, K>;
alias sum = subgroup_matrix_result<f32, N, M>;

override STEPS: u32 = 256;

struct Params {
    first: vec4<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f16>;
@group(0) @binding(2) var<storage, read> b: array<f16>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<storage, read_write> n: array<u32>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32, @builtin(subgroup_size) size: u32) {
    let l0 = subgroupMatrixLoad<left>(&a, 0u, false, K);
    let l1 = subgroupMatrixLoad<left>(&a, M * K, false, K);
    let r0 = subgroupMatrixLoad<right>(&b, 0u, false, N);
    let r1 = subgroupMatrixLoad<right>(&b, K * N, false, N);
    let r2 = subgroupMatrixLoad<right>(&b, 2u * K * N, false, N);
    let r3 = subgroupMatrixLoad<right>(&b, 3u * K * N, false, N);
    var s0: sum;
    var s1: sum;
    var s2: sum;
    var s3: sum;
    var s4: sum;
    var s5: sum;
    var s6: sum;
    var s7: sum;
    for (var i = 0u; i < STEPS; i++) {
        s0 = subgroupMatrixMultiplyAccumulate(l0, r0, s0);
        s1 = subgroupMatrixMultiplyAccumulate(l0, r1, s1);
        s2 = subgroupMatrixMultiplyAccumulate(l0, r2, s2);
        s3 = subgroupMatrixMultiplyAccumulate(l0, r3, s3);
        s4 = subgroupMatrixMultiplyAccumulate(l1, r0, s4);
        s5 = subgroupMatrixMultiplyAccumulate(l1, r1, s5);
        s6 = subgroupMatrixMultiplyAccumulate(l1, r2, s6);
        s7 = subgroupMatrixMultiplyAccumulate(l1, r3, s7);
    }
    let group = workgroup.x + params.first.x;
    let at = group * 8u * M * N;
    subgroupMatrixStore(&y, at, s0, false, N);
    subgroupMatrixStore(&y, at + M * N, s1, false, N);
    subgroupMatrixStore(&y, at + 2u * M * N, s2, false, N);
    subgroupMatrixStore(&y, at + 3u * M * N, s3, false, N);
    subgroupMatrixStore(&y, at + 4u * M * N, s4, false, N);
    subgroupMatrixStore(&y, at + 5u * M * N, s5, false, N);
    subgroupMatrixStore(&y, at + 6u * M * N, s6, false, N);
    subgroupMatrixStore(&y, at + 7u * M * N, s7, false, N);
    if local == 0u { n[group] = LANES / size; }
}
