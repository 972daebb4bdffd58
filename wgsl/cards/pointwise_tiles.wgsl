// The products of pointwise.wgsl through workgroup memory, shared by
// pointwise_tiled.wgsl and pointwise_tiled_f16.wgsl. They import the storage in
// workgroup memory, cards/tiles_*.wgsl.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<elem4>;
@group(0) @binding(2) var<storage, read> x1: array<elem4>;
@group(0) @binding(3) var<storage, read> x2: array<elem4>;
@group(0) @binding(4) var<storage, read> weight: array<coefficient>;
@group(0) @binding(5) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<elem4>;

const LANES: u32 = 8;
const DEPTH: u32 = 4;                  // vec4s of input channels at a time
const FETCHED: u32 = WG / DEPTH;       // pixels fetched at once
const_assert WG == LANES * LANES && LANES * PIXELS == 4u * FETCHED;

const PER_FOUR: u32 = 4u * PIECES;     // pieces of weights
const_assert LANES % PER_FOUR == 0u;

var<workgroup> pixels: array<array<array<Four, LANES>, PIXELS>, DEPTH>;     // [input][pixel][segment]
var<workgroup> matrices: array<array<array<Piece, PER_FOUR>, DEPTH>, LANES>; // [block][input][input, output]

// keep stores a fetched vec4 as pixel n of the tile.
fn keep(n: u32, c: u32, v: Four, inside: bool) {
    pixels[c][n % PIXELS][n / PIXELS] = select(Four(), v, inside);
}

// multiply adds the products of the stored tile.
fn multiply(sums: ptr<function, Sums>, lane: u32, deep: u32) {
    var parts = begin(sums);
    for (var c = 0u; c < DEPTH; c++) {
        var row = array<Four, PIXELS>();
#loop p PIXELS
        row[{p}] = pixels[c][{p}][lane];
#end
#loop i 4
        let m = eight(matrices[deep][c][{i} * PIECES], matrices[deep][c][{i} * PIECES + PIECES - 1u]);
#loop p PIXELS
        add8(&parts, {p}, numbers(row[{p}])[{i}], m);
#end
#end
    }
    finish(sums, &parts);
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let lane = local % LANES; // of its pixels, and of the weights that it fetches
    let deep = local / LANES; // of its block
    let first = group.x * LANES * PIXELS;
    let block = group.y * LANES + deep;
    let f = group.z;

    var sums = Sums();
    let nth = select(lane % PER_FOUR, lane, PER_FOUR == LANES); // the piece of weights that it fetches,
    let behind = select(lane / PER_FOUR, 0u, PER_FOUR == LANES); // for vec4s so far behind
    let block_in = min(block, (params.C_out4 - 1u) / WIDE);
    start(&sums, block_in);
    let tap_size = params.C_in4 * PER_FOUR; // weights of one temporal tap
    let w_block = (params.weight_at + block_in * params.weight_stride) / (WIDE / PIECES) + nth;
    let n = local / DEPTH; // the first pixel that this invocation fetches
    let d = local % DEPTH; // and its channels
    var line = array<u32, 4>();
#loop p 4
    line[{p}] = f * params.x_stride + min(first + n + {p} * FETCHED, params.P - 1u) * params.C_in4;
#end
    for (var k = 0u; k < KT; k++) {
        for (var c = 0u; c < params.C_in4; c += DEPTH) {
            let inside = c + d < params.C_in4;
            let column = min(c + d, params.C_in4 - 1u);
            workgroupBarrier();
#unroll k 3
            if KT > {k}u && (KT == 1u || k == {k}u) {
#loop p 4
                keep(n + {p} * FETCHED, d, four(x{k}[params.x{k}_at + line[{p}] + column]), inside);
#end
            }
#end
            for (var j = 0u; j < DEPTH * PER_FOUR / LANES; j++) {
                let d4 = j * (LANES / PER_FOUR) + behind;
                matrices[deep][d4][nth] = piece(weight[w_block + k * tap_size + min(c + d4, params.C_in4 - 1u) * PER_FOUR]);
            }
            workgroupBarrier();
            multiply(&sums, lane, deep);
        }
    }
    store(&sums, f, first + lane * PIXELS, params.P, block);
}
