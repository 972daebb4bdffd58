// The 3x3xKT convolution of conv3d_staged.wgsl and conv3d_strided_staged.wgsl,
// which say what it computes and declare STRIDE.

#import conv3d_params
#import products
#import several

const INPUTS: u32 = (PIXELS - 1u) * STRIDE + 3u; // pixels under those that an invocation makes

const LANES: u32 = 8;
const_assert WG == LANES * LANES;
const_assert MATRIX == LANES; // an invocation fetches one vec4 of each
const_assert LANES <= INPUTS && INPUTS <= 2u * LANES;

const PER_TAP: u32 = 3u * MATRIX; // weights under a row of taps, vec4s

var<workgroup> pixels: array<array<array<vec4<f32>, LANES>, INPUTS>, 3>;    // [tap][input][segment]
var<workgroup> matrices: array<array<array<vec4<f32>, PER_TAP>, 3>, LANES>; // [block][tap][column, input, output]

// fetch puts four channels of the pixel at `at` under every temporal tap.
fn fetch(q: u32, lane: u32, at: u32, inside: bool) {
    pixels[0][q][lane] = select(vec4<f32>(), load4(x0[params.x0_at + at]), inside);
    if KT > 1u { pixels[1][q][lane] = select(vec4<f32>(), load4(x1[params.x1_at + at]), inside); }
    if KT > 2u { pixels[2][q][lane] = select(vec4<f32>(), load4(x2[params.x2_at + at]), inside); }
}

// multiply adds the products of a row of x under temporal tap k with its three taps.
fn multiply(sums: ptr<function, Sums>, k: u32, lane: u32, deep: u32) {
    var row = array<vec4<f32>, INPUTS>();
    for (var q = 0u; q < INPUTS; q++) {
        row[q] = pixels[k][q][lane];
    }
    for (var j = 0u; j < 3u; j++) {
        for (var i = 0u; i < 4u; i++) {
            let a = matrices[deep][k][j * MATRIX + i * WIDE];
            let b = matrices[deep][k][j * MATRIX + i * WIDE + 1u];
            for (var p = 0u; p < PIXELS; p++) {
                let v = row[STRIDE * p + j][i];
                (*sums)[WIDE * p] += v * a;
                (*sums)[WIDE * p + 1u] += v * b;
            }
        }
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let lane = local % LANES; // of its segment, and of the weights that it fetches
    let deep = local / LANES; // of its block, and of the pixel that it fetches
    let segment = group.x * LANES + lane;
    let block = group.y * LANES + deep;
    let per_row = (params.W + PIXELS - 1u) / PIXELS;
    let r = segment / per_row;
    let s = (segment % per_row) * PIXELS;
    let f = group.z;

    var sums = Sums();
    start(&sums, min(block, (params.C_out4 - 1u) / WIDE));
    let tap_size = 3u * params.C_in4 * PER_TAP; // weights of one temporal tap
    let w_block = params.weight_at + min(block, (params.C_out4 - 1u) / WIDE) * params.weight_stride + lane;
    // The two pixels that this invocation fetches: clamped into the row, and whether they are inside of it.
    let s_in = vec2<i32>(i32(STRIDE * s + deep)) + vec2<i32>(0, i32(LANES)) + params.left;
    let clamped = clamp(s_in, vec2<i32>(), vec2<i32>(i32(SCALE * params.W_in) - 1));
    let column = vec2<u32>(clamped) / SCALE * params.C_in4;
    for (var i = 0u; i < 3u; i++) {
        let r_in = i32(STRIDE * r + i) + params.top;
        let row = clamp(r_in, 0, i32(SCALE * params.H_in) - 1);
        let inside = (s_in == clamped) & vec2<bool>(r_in == row);
        let line = f * params.x_stride + u32(row) / SCALE * params.W_in * params.C_in4;
        for (var c = 0u; c < params.C_in4; c++) {
            workgroupBarrier();
            fetch(deep, lane, line + column.x + c, inside.x);
            if deep < INPUTS - LANES {
                fetch(deep + LANES, lane, line + column.y + c, inside.y);
            }
            let w = w_block + (i * params.C_in4 + c) * PER_TAP;
            for (var k = 0u; k < KT; k++) {
                for (var j = 0u; j < 3u; j++) {
                    matrices[deep][k][j * MATRIX + lane] = load_weight4(weight[w + k * tap_size + j * MATRIX]);
                }
            }
            workgroupBarrier();
            multiply(&sums, 0u, lane, deep);
            if KT > 1u { multiply(&sums, 1u, lane, deep); }
            if KT > 2u { multiply(&sums, 2u, lane, deep); }
        }
    }
    if segment < params.segments {
        store(&sums, f, r * params.W + s, (r + 1u) * params.W, block);
    }
}
