// weights_subgroup8.wgsl for subgroups of four, in which each invocation loads two
// vec4s.

enable subgroups;
diagnostic(off, subgroup_uniformity);

const TOGETHER: bool = true;
const WRITTEN: bool = true;

var<private> lane: u32;

fn ready() { lane = subgroupExclusiveAdd(1u); }

fn matrix(at: u32) -> Matrix {
    let a = load_weight4(weight[at + lane]);
    let b = load_weight4(weight[at + 4u + lane]);
    return Matrix(
        subgroupBroadcast(a, 0u), subgroupBroadcast(a, 1u),
        subgroupBroadcast(a, 2u), subgroupBroadcast(a, 3u),
        subgroupBroadcast(b, 0u), subgroupBroadcast(b, 1u),
        subgroupBroadcast(b, 2u), subgroupBroadcast(b, 3u),
    );
}

// cells and cell do nothing here; weights_subgroup8.wgsl needs them.
fn cells(at: u32) -> vec4<f32> { return vec4<f32>(); }

fn cell(all: vec4<f32>, at: u32, n: u32) -> vec4<f32> { return bias[at + n]; }
