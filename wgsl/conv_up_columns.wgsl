// conv_up_columns: conv_up.wgsl in columns of pixels, for processors
//
// The same y, x0 to x2, weight and bias, with the same Params. One invocation makes
// PIXELS pixels of one parity, every other one of a column, in BLOCKS blocks of BLOCK
// output channels; the eight of a subgroup, which is a workgroup, have columns side by
// side, so that what the next one loads is what lies right. A sum takes the products of
// two rows of taps and four input channels at once, fused: sums are memory, and in a loop
// each is written through a mask.
//
// Sums are f32. Reference: ref/conv_up.go. WG, PIXELS, BLOCK and BLOCKS are in
// conv_up_columns.go; shuffles take a lane to be the invocation's number.
// Grid: (blocks/BLOCKS, columns, of rows of a multiple of 8 / WG, frames).

enable subgroups;
diagnostic(off, subgroup_uniformity); // loops are the same for a subgroup, which the text doesn't show

#import conv_up_params
#import products
#import several

const BIASES: u32 = 5;                // of pixels, and of the four cells
const INPUTS: u32 = PIXELS + 1u;      // rows of cells under a column
const ENDS: u32 = (INPUTS + 7u) / 8u; // loads of what lies right of the subgroup
const NOWHERE: u32 = 0xffffffffu;
const_assert WG == 8u && TAPS == 2u;

// place is where pixel number `pixel` from `line` on lies.
fn place(line: u32, pixel: u32, o: u32) -> u32 { return line + pixel * params.C_out4 + o; }

// Near is what an invocation loads: its own column, and of eight rows the cell right of
// the subgroup's.
alias Near = array<vec4<f32>, INPUTS + ENDS>;

// Places are where that lies in a frame.
alias Places = array<u32, INPUTS + ENDS>;

// find is where a cell is.
fn find(r: i32, column: i32) -> u32 {
    let r_in = clamp(r, 0, i32(params.H_in) - 1);
    let column_in = clamp(column, 0, i32(params.W_in) - 1);
    return select(NOWHERE, (u32(r_in) * params.W_in + u32(column_in)) * params.C_in4, r == r_in && column == column_in);
}

// places are those of cells from (row, column) on.
fn places(row: i32, column: i32, own: u32) -> Places {
    var all = Places();
#each q
    all[{q}] = find(row + {q}, column + i32(own));
#end
    for (var e = 0u; e < ENDS; e++) {
        all[INPUTS + e] = find(row + i32(8u * e + own), column + 8);
    }
    return all;
}

// fused adds the products of four channels of x.
fn fused(sum: vec4<f32>, v: vec4<f32>, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> vec4<f32> {
    return fma(v.wwww, d, fma(v.zzzz, c, fma(v.yyyy, b, fma(v.xxxx, a, sum))));
}

// sweep{k} adds the products of temporal tap k, of a frame from `line` on.
#each k
fn sweep{k}(sums: ptr<function, Sums>, all: Places, line: u32, block: u32, own: u32) {
    let size = params.C_in4 * TAPS * MATRIX; // weights of a row of taps
    let first = params.weight_at + block * params.weight_stride + {k}u * TAPS * size;
    for (var c = 0u; c < params.C_in4; c++) {
        var near = Near();
#each q
        near[{q}] = select(load4(x{k}[params.x{k}_at + line + c + all[{q}]]), vec4<f32>(), all[{q}] == NOWHERE);
#end
        for (var e = INPUTS; e < INPUTS + ENDS; e++) {
            near[e] = select(load4(x{k}[params.x{k}_at + line + c + all[e]]), vec4<f32>(), all[e] == NOWHERE);
        }
        for (var j = 0u; j < TAPS; j++) {
            var row = array<vec4<f32>, INPUTS>();
#each q
            row[{q}] = select(near[{q}], select(subgroupShuffle(near[{q}], (own + 1u) % 8u), subgroupShuffle(near[INPUTS + {q}u / 8u], {q}u % 8u), own == 7u), j == 1u);
#end
#each b
            {
                let w = first + {b}u * params.weight_stride + (c * TAPS + j) * MATRIX;
                let m = matrix(w);
                let n = matrix(w + size);
#each p
#each h
                (*sums)[({b}u * PIXELS + {p}u) * WIDE + {h}u] = fused(fused((*sums)[({b}u * PIXELS + {p}u) * WIDE + {h}u],
                    row[{p}], m.a{h}, m.b{h}, m.c{h}, m.d{h}),
                    row[{p} + 1], n.a{h}, n.b{h}, n.c{h}, n.d{h});
#end
#end
            }
#end
        }
    }
}
#end

// add_cells adds the bias of the cells that are inside of x.
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
    let odd = (parity - vec2(params.top, params.left)) & vec2(1); // the first row and column that have it
    let per_row = ((params.W + 1u) / 2u + 7u) & ~7u;
    let segment = group.y * WG;
    let r = PIXELS * (segment / per_row);
    let s = segment % per_row;
    let begin = ((vec2(params.top, params.left) + odd) >> vec2(1u)) - 1 + parity + vec2(i32(r), i32(s));
    ready();

    var sums = Sums();
    if !accumulates() {
        start(&sums, block);
        add_cells(&sums, block, begin.x, begin.y + i32(own));
    }
    let all = places(begin.x, begin.y, own);
    let line = group.z * params.x_stride;
    sweep0(&sums, all, line, block, own);
    if KT > 1u { sweep1(&sums, all, line, block, own); }
    if KT > 2u { sweep2(&sums, all, line, block, own); }
    let column = 2u * (s + own) + u32(odd.y);
    let frame = (group.z * params.Z + phase / 4u) * params.y_stride;
    for (var n = 0u; n < PIXELS * BLOCKS * WIDE; n++) { // one place that stores is less to compile
        let row = 2u * (r + n / (BLOCKS * WIDE)) + u32(odd.x);
        let h = n % (BLOCKS * WIDE);
        let o = part * WIDE + h;
        if row < params.H && column < params.W && phase < 4u * params.Z {
            put(sums[(h / WIDE * PIXELS + n / (BLOCKS * WIDE)) * WIDE + h % WIDE], place(frame, row * params.W + column, o), o);
        }
    }
}
