// The convolution of conv3d.wgsl through workgroup memory, shared by conv3d_tiled.wgsl
// and conv3d_tiled_f16.wgsl. They import the storage in workgroup memory,
// cards/tiles_*.wgsl.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<coefficient>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

const LANES: u32 = 8;
const_assert WG == LANES * LANES;
const_assert LANES <= INPUTS && INPUTS <= 2u * LANES;

const PER_TAP: u32 = 12u * PIECES; // pieces of weights under a row of taps

var<workgroup> pixels: array<array<array<Four, LANES>, INPUTS>, 3>;     // [tap][input][segment]
var<workgroup> matrices: array<array<array<Piece, PER_TAP>, 3>, LANES>; // [block][tap][column, input, output]

// fetch stores four channels of the pixel at `at` for every temporal tap.
fn fetch(q: u32, lane: u32, at: u32, inside: bool) {
#unroll k 3
    if KT > {k}u { pixels[{k}][q][lane] = select(Four(), four(x{k}[params.x{k}_at + at]), inside); }
#end
}

// multiply adds the products of a row of x under temporal tap k with its three taps.
fn multiply(sums: ptr<function, Sums>, k: u32, lane: u32, deep: u32) {
    var row = array<Four, INPUTS>();
#loop q INPUTS
    row[{q}] = pixels[k][{q}][lane];
#end
    var parts = begin(sums);
#loop j 3
#loop i 4
    let at = ({j} * 4u + {i}) * PIECES;
    let m = eight(matrices[deep][k][at], matrices[deep][k][at + PIECES - 1u]);
#loop p PIXELS
    add8(&parts, {p}, numbers(row[STRIDE * {p} + {j}])[{i}], m);
#end
#end
#end
    finish(sums, &parts);
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
    let w_block = (params.weight_at + min(block, (params.C_out4 - 1u) / WIDE) * params.weight_stride) / (WIDE / PIECES) + lane;
    // The two pixels that this invocation fetches: their columns, clamped into the row,
    // and whether they are inside of it.
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
                for (var j = 0u; j < (PER_TAP + LANES - 1u) / LANES; j++) {
                    if PER_TAP % LANES == 0u || j * LANES + lane < PER_TAP {
                        matrices[deep][k][j * LANES + lane] = piece(weight[w + k * tap_size + j * LANES]);
                    }
                }
            }
            workgroupBarrier();
#copies k 3
            if KT > {k} { multiply(&sums, {k}, lane, deep); }
#end
        }
    }
    if segment < params.segments {
        store(&sums, f, r * params.W + s, (r + 1u) * params.W, block);
    }
}
