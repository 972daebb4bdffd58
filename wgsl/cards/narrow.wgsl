// Products with weights in workgroup memory. All invocations of a workgroup have the
// same block, so the compiler loads a matrix once for a subgroup, as one or two blocks
// of registers, and multiplies by its numbers where they are. Halves are unpacked once
// for a workgroup: Intel's compiler would take an instruction and a register for each
// weight. The kernel binds weight.

#import cards/weight8
#import sums

const DEPTH: u32 = 16; // vec4s of input channels at a time
const LOADED: u32 = 4u * DEPTH * TAPS; // weight8s
const_assert LOADED % WG == 0u;

alias Matrix = array<vec4<f32>, 8>; // weights of four input channels and a block: [input][vec4s of output channels]

var<workgroup> matrices: array<array<Matrix, TAPS>, DEPTH>;

// stage stores the matrices from `at` on. Those beyond the last channel are not used.
fn stage(at: u32, local: u32) {
    for (var i = 0u; i < LOADED / WG; i++) {
        let n = i * WG + local;
        let e = weight[4u * at + n];
        matrices[n / (4u * TAPS)][n / 4u % TAPS][2u * (n % 4u)] = head4(e);
        matrices[n / (4u * TAPS)][n / 4u % TAPS][2u * (n % 4u) + 1u] = tail4(e);
    }
}

// add adds the products of four channels of x to the sums of pixel p.
fn add(sums: ptr<function, Sums>, p: u32, v: vec4<f32>, m: Matrix) {
    (*sums)[WIDE * p] += v.x * m[0] + v.y * m[2] + v.z * m[4] + v.w * m[6];
    (*sums)[WIDE * p + 1u] += v.x * m[1] + v.y * m[3] + v.z * m[5] + v.w * m[7];
}
