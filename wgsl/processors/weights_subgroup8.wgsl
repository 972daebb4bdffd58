// matrix() for kernels in which a subgroup of eight has common output channels: each
// invocation loads one vec4 of the weights and broadcasts it.

enable subgroups;
diagnostic(off, subgroup_uniformity); // a block is subgroup-uniform, which the text doesn't show

const TOGETHER: bool = true;
const WRITTEN: bool = false;

var<private> lane: u32;

fn ready() { lane = subgroupExclusiveAdd(1u); }

fn matrix(at: u32) -> Matrix {
    let mine = load_weight4(weight[at + lane]);
    return Matrix(
        subgroupBroadcast(mine, 0u), subgroupBroadcast(mine, 1u),
        subgroupBroadcast(mine, 2u), subgroupBroadcast(mine, 3u),
        subgroupBroadcast(mine, 4u), subgroupBroadcast(mine, 5u),
        subgroupBroadcast(mine, 6u), subgroupBroadcast(mine, 7u),
    );
}

// cells loads eight vec4s of biases, one in each invocation: one load compiles a
// quarter of a second faster than eight.
fn cells(at: u32) -> vec4<f32> { return bias[at + lane]; }

// cell returns number n of them.
fn cell(all: vec4<f32>, at: u32, n: u32) -> vec4<f32> { return subgroupShuffle(all, n); }
