// conv3d_columns: conv3d.wgsl in columns of pixels, for processors whose compiler sees which addresses are the same for all
//
// The same y, x0 to x2, weight and bias. One invocation makes PIXELS pixels of a column
// in BLOCKS blocks of BLOCK output channels; the eight of a subgroup, which is a
// workgroup, have columns side by side, so that what the others load is what lies left
// and right. A sum takes the products of three rows of taps and four input channels at
// once, fused: sums are memory, and in a loop each is written through a mask.
//
// Sums are f32. Reference: ref/conv3d.go. WG, PIXELS, BLOCK and BLOCKS are in
// conv3d_columns.go; shuffles take a lane to be the invocation's number.
// Grid: (C_out/BLOCK/BLOCKS, columns, of rows of a multiple of 8 / WG, frames).

enable subgroups;
diagnostic(off, subgroup_uniformity); // loops are the same for a subgroup, which the text doesn't show

#import conv3d_params
#import products
#import several

const INPUTS: u32 = PIXELS + 2u;           // rows under a column
const ENDS: u32 = (2u * INPUTS + 7u) / 8u; // loads of what lies left and right of the subgroup
const NOWHERE: u32 = 0xffffffffu;
const_assert WG == 8u && TAPS == 3u;

// Near is what an invocation loads: its own column, and of four rows the pixels left and
// right of the subgroup's.
alias Near = array<vec4<f32>, INPUTS + ENDS>;

// Places are where that lies in a frame.
alias Places = array<u32, INPUTS + ENDS>;

// find is where a pixel is.
fn find(r: i32, column: i32) -> u32 {
    let r_in = clamp(r, 0, i32(SCALE * params.H_in) - 1);
    let column_in = clamp(column, 0, i32(SCALE * params.W_in) - 1);
    return select(NOWHERE, (u32(r_in) / SCALE * params.W_in + u32(column_in) / SCALE) * params.C_in4, r == r_in && column == column_in);
}

// places are those of a subgroup's rows from `top` on, whose first column reads from `left` on.
fn places(top: i32, left: i32, lane: u32) -> Places {
    var all = Places();
#each q
    all[{q}] = find(top + {q}, left + i32(lane) + 1);
#end
    for (var e = 0u; e < ENDS; e++) {
        all[INPUTS + e] = find(top + i32(4u * e + lane / 2u), left + select(0, 9, lane % 2u == 1u));
    }
    return all;
}

// beside is the row's pixel under tap j.
fn beside(near: ptr<function, Near>, q: u32, j: u32, lane: u32) -> vec4<f32> {
    let end = subgroupShuffle((*near)[INPUTS + q / 4u], 2u * (q % 4u) + u32(j == 2u));
    let ends = lane == select(select(8u, 0u, j == 0u), 7u, j == 2u);
    return select(subgroupShuffle((*near)[q], (lane + j + 7u) % 8u), end, ends);
}

// fused adds the products of four channels of x.
fn fused(sum: vec4<f32>, v: vec4<f32>, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>) -> vec4<f32> {
    return fma(v.wwww, d, fma(v.zzzz, c, fma(v.yyyy, b, fma(v.xxxx, a, sum))));
}

// sweep{k} adds the products of temporal tap k, of a frame from `line` on.
#each k
fn sweep{k}(sums: ptr<function, Sums>, all: Places, line: u32, block: u32, lane: u32) {
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
            row[{q}] = beside(&near, {q}u, j, lane);
#end
#each b
            let w{b} = first + {b}u * params.weight_stride + (c * TAPS + j) * MATRIX;
            let m{b} = matrix(w{b});
            let n{b} = matrix(w{b} + size);
            let o{b} = matrix(w{b} + 2u * size);
#each p
#each h
            (*sums)[({b}u * PIXELS + {p}u) * WIDE + {h}u] = fused(fused(fused((*sums)[({b}u * PIXELS + {p}u) * WIDE + {h}u],
                row[{p}], m{b}.a{h}, m{b}.b{h}, m{b}.c{h}, m{b}.d{h}),
                row[{p} + 1], n{b}.a{h}, n{b}.b{h}, n{b}.c{h}, n{b}.d{h}),
                row[{p} + 2], o{b}.a{h}, o{b}.b{h}, o{b}.c{h}, o{b}.d{h});
#end
#end
#end
        }
    }
}
#end

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let group = workgroup + params.first.xyz;
    let mine = Seat(group.y * WG + lane, BLOCKS * group.x);
    let per_row = (params.W + 7u) & ~7u;
    let r = PIXELS * (mine.segment / per_row);
    let s = mine.segment % per_row;
    let all = places(i32(r) + params.top, i32(s - lane) + params.left, lane);
    let line = group.z * params.x_stride;

    var sums = Sums();
    start(&sums, mine.block);
    sweep0(&sums, all, line, mine.block, lane);
    if KT > 1u { sweep1(&sums, all, line, mine.block, lane); }
    if KT > 2u { sweep2(&sums, all, line, mine.block, lane); }
    for (var n = 0u; n < PIXELS * BLOCKS * WIDE; n++) { // one place that stores is less to compile
        let p = n / (BLOCKS * WIDE);
        let h = n % (BLOCKS * WIDE);
        let o = mine.block * WIDE + h;
        if r + p < params.H && s < params.W {
            put(sums[(h / WIDE * PIXELS + p) * WIDE + h % WIDE], place(group.z, (r + p) * params.W + s, o), o);
        }
    }
}
