// The entry point of conv_up_columns.wgsl and conv_up_columns_cooperative.wgsl, which
// import how weights are loaded.

#import processors/columns_frames

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<weight4>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

const BIASES: u32 = 5; // of pixels, and of the four cells
const SCALE: u32 = 1;

// place returns the offset of pixel number `pixel` from `line` on.
fn place(line: u32, pixel: u32, o: u32) -> u32 { return line + pixel * params.C_out4 + o; }

// add_cells adds the biases of the cells inside of x.
fn add_cells(sums: ptr<function, Sums>, block: u32, row: i32, column: i32) {
    for (var b = 0u; b < BLOCKS; b++) {
        let at = (BIASES * (block + b) + 1u) * WIDE;
        let all = cells(at);
        for (var i = 0u; i < 4u; i++) {
            let column_in = column + i32(i % 2u);
            let here = column_in >= 0 && column_in < i32(params.W_in);
            let b0 = cell(all, at, i * WIDE);
            let b1 = cell(all, at, i * WIDE + 1u);
            for (var p = 0u; p < PIXELS; p++) {
                let row_in = row + i32(p + i / 2u);
                let inside = here && row_in >= 0 && row_in < i32(params.H_in);
                let n = (b * PIXELS + p) * WIDE;
                (*sums)[n] += select(vec4<f32>(), b0, inside);
                (*sums)[n + 1u] += select(vec4<f32>(), b1, inside);
            }
        }
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) own: u32) {
    let group = workgroup + params.first.xyz;
    let deep = (params.blocks + BLOCKS - 1u) / BLOCKS * BLOCKS; // of a parity in the grid
    let phase = BLOCKS * group.x / deep;                        // of time and parity
    let part = BLOCKS * group.x % deep;
    let block = phase * params.blocks + part;
    let parity = vec2<i32>(i32(phase / 2u % 2u), i32(phase % 2u));
    let odd = (parity - vec2(params.top, params.left)) & vec2(1); // the first row and column of this parity
    let first = column(group.y, (params.W + 1u) / 2u);
    let begin = ((vec2(params.top, params.left) + odd) >> vec2(1u)) - 1 + parity + vec2<i32>(first);
    ready();

    var sums = Sums();
    if !accumulates() {
        start(&sums, block);
        add_cells(&sums, block, begin.x, begin.y + i32(own));
    }
    sweep(&sums, places(begin.x, begin.y, own), group.z * params.x_stride, block, own);
    let s = 2u * (first.y + own) + u32(odd.y);
    let frame = (group.z * params.Z + phase / 4u) * params.y_stride;
    for (var n = 0u; n < PIXELS * BLOCKS * WIDE; n++) { // a single store is faster to compile
        let r = 2u * (first.x + n / (BLOCKS * WIDE)) + u32(odd.x);
        let h = n % (BLOCKS * WIDE);
        let o = part * WIDE + h;
        if r < params.H && s < params.W && phase < 4u * params.Z {
            put(sums[(h / WIDE * PIXELS + n / (BLOCKS * WIDE)) * WIDE + h % WIDE], place(frame, r * params.W + s, o), o);
        }
    }
}
