// matrix() for kernels in which each invocation loads its own weights.

const TOGETHER: bool = false;
const WRITTEN: bool = false;

fn ready() {}

fn matrix(at: u32) -> Matrix {
    return Matrix(
        load_weight4(weight[at]), load_weight4(weight[at + 1u]),
        load_weight4(weight[at + 2u]), load_weight4(weight[at + 3u]),
        load_weight4(weight[at + 4u]), load_weight4(weight[at + 5u]),
        load_weight4(weight[at + 6u]), load_weight4(weight[at + 7u]),
    );
}

// cells and cell do nothing here; weights_subgroup8.wgsl needs them.
fn cells(at: u32) -> vec4<f32> { return vec4<f32>(); }

fn cell(all: vec4<f32>, at: u32, n: u32) -> vec4<f32> { return bias[at + n]; }
