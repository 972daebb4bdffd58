// attention: o[t,i,:] = sum_j softmax_j(q[t,i,:] . k[t,j,:] / sqrt(C)) * v[t,j,:]
//
//   qkv  [T, N, 3, C]  elem  read        q, k, v, each padded; from qkv_at (vec4s) on
//   o    [T, N, C]     elem  read_write  from o_at (vec4s) on; may not alias qkv
//
// One head per frame over its N pixels. A workgroup takes QUERIES queries of a
// frame and 4*WG of their output channels, and passes over the keys in blocks
// of WG with a running maximum and sum, all f32: no N*N scores exist. Per block
//   scores   a thread has one key and all queries; q is the same for all threads
//   softmax  a thread has 4 queries and WG/LANES keys
//   values   a thread has 4 channels of all queries' o in registers
// More than 4*WG channels repeat the scores. Reference: ref/attention.go.
// Grid: (N/QUERIES, T, C/(4*WG)).

#import elem

struct Params {
    first: vec4<u32>,
    N: u32,
    C4: u32,
    qkv_at: u32,
    o_at: u32,
    scale: f32, // log2(e)/sqrt(C): powers of 2 are taken instead of e
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> qkv: array<elem4>;
@group(0) @binding(2) var<storage, read_write> o: array<elem4>;

const WG: u32 = 128;
const QUERIES: u32 = 16;
const QUADS: u32 = 4;  // QUERIES/4
const LANES: u32 = 32; // WG/QUADS
const LOWEST: f32 = -3e38;

var<workgroup> p: array<vec4<f32>, 512>;     // [WG keys][QUADS]: scores, then powers, of four queries each
var<workgroup> part: array<vec4<f32>, WG>;   // [LANES][QUADS]: maxima, in the end sums
var<workgroup> decay: array<vec4<f32>, QUADS>; // what the sums so far shrink by

// row is where token n starts, clamped into the frame.
fn row(frame: u32, n: u32) -> u32 {
    return frame + min(n, params.N - 1u) * 3u * params.C4;
}

// score writes the scores of a key with all queries to p.
fn score(frame: u32, query: u32, key: u32, local: u32) {
    var s = array<vec4<f32>, QUADS>();
    var q_at = array<u32, QUERIES>();
    for (var i = 0u; i < QUERIES; i++) { q_at[i] = row(frame, query + i); }
    let k_at = row(frame, key + local) + params.C4;
    for (var c = 0u; c < params.C4; c++) {
        let k = load4(qkv[k_at + c]);
        for (var i = 0u; i < QUADS; i++) {
            s[i] += vec4<f32>(
                dot(load4(qkv[q_at[4u * i] + c]), k),
                dot(load4(qkv[q_at[4u * i + 1u] + c]), k),
                dot(load4(qkv[q_at[4u * i + 2u] + c]), k),
                dot(load4(qkv[q_at[4u * i + 3u] + c]), k));
        }
    }
    let exists = key + local < params.N;
    for (var i = 0u; i < QUADS; i++) {
        p[local * QUADS + i] = select(vec4<f32>(LOWEST), s[i] * params.scale, exists);
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let query = group.x * QUERIES;
    let frame = params.qkv_at + group.y * params.N * 3u * params.C4;

    let quad = local % QUADS;
    let lane = local / QUADS;
    var maximum = vec4<f32>(LOWEST);
    var sum = vec4<f32>();

    let column = group.z * WG + local;
    let holding = column < params.C4;
    var acc = array<vec4<f32>, QUERIES>();

    for (var key = 0u; key < params.N; key += WG) {
        workgroupBarrier(); // p of the block before is done with
        score(frame, query, key, local);
        workgroupBarrier();

        let s0 = p[lane * QUADS + quad];
        let s1 = p[(lane + LANES) * QUADS + quad];
        let s2 = p[(lane + 2u * LANES) * QUADS + quad];
        let s3 = p[(lane + 3u * LANES) * QUADS + quad];
        part[local] = max(max(s0, s1), max(s2, s3));
        workgroupBarrier();
        let before = maximum;
        for (var i = 0u; i < LANES; i++) { maximum = max(maximum, part[i * QUADS + quad]); }
        let shrink = select(exp2(before - maximum), vec4<f32>(), key == 0u);
        // Keys beyond the last one have score LOWEST: a power of 0.
        let p0 = exp2(s0 - maximum);
        let p1 = exp2(s1 - maximum);
        let p2 = exp2(s2 - maximum);
        let p3 = exp2(s3 - maximum);
        p[lane * QUADS + quad] = p0;
        p[(lane + LANES) * QUADS + quad] = p1;
        p[(lane + 2u * LANES) * QUADS + quad] = p2;
        p[(lane + 3u * LANES) * QUADS + quad] = p3;
        sum = sum * shrink + ((p0 + p1) + (p2 + p3));
        if lane == 0u { decay[quad] = shrink; }
        workgroupBarrier();

        if holding {
            for (var i = 0u; i < QUADS; i++) {
                let d = decay[i];
                acc[4u * i] *= d.x;
                acc[4u * i + 1u] *= d.y;
                acc[4u * i + 2u] *= d.z;
                acc[4u * i + 3u] *= d.w;
            }
            let keys = min(WG, params.N - key);
            for (var j = 0u; j < keys; j++) {
                let v = load4(qkv[row(frame, key + j) + 2u * params.C4 + column]);
                for (var i = 0u; i < QUADS; i++) {
                    let w = p[j * QUADS + i];
                    acc[4u * i] += w.x * v;
                    acc[4u * i + 1u] += w.y * v;
                    acc[4u * i + 2u] += w.z * v;
                    acc[4u * i + 3u] += w.w * v;
                }
            }
        }
    }

    part[local] = sum;
    workgroupBarrier();
    if holding {
        for (var i = 0u; i < QUADS; i++) {
            var total = vec4<f32>();
            for (var j = 0u; j < LANES; j++) { total += part[j * QUADS + i]; }
            for (var k = 0u; k < 4u; k++) {
                let n = query + 4u * i + k;
                if n < params.N {
                    o[params.o_at + (group.y * params.N + n) * params.C4 + column] = store4(acc[4u * i + k] / total[k]);
                }
            }
        }
    }
}
