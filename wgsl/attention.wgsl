// attention: o[t,i,:] = sum_j softmax_j(q[t,i,:] . k[t,j,:] / sqrt(C)) * v[t,j,:]
//
//   qkv  [T, N, 3, C]  elem  read        q, k, v, each padded; from qkv_at (vec4s) on
//   o    [T, N, C]     elem  read_write  from o_at (vec4s) on; may not alias qkv
//
// One head per frame over its N pixels. A workgroup takes QUERIES queries of a
// frame and passes over the keys in blocks of KEYS with a running maximum and
// sum, all f32: no N*N scores exist. Per block
//   scores   a thread has 4 queries x 2 keys; q and k pass through workgroup
//            memory SLICE vec4s of channels at a time, q transposed
//   softmax  every thread finds its queries' new maximum; p = exp(score - maximum)
//   values   a thread has HELD queries x 4 channels of o in registers
// C is at most HELD/QUERIES * 1024. Reference: ref/attention.go. Grid: (N/QUERIES, T).

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

override QUERIES: u32 = 32; // 16 or 32

const WG: u32 = 256;
const KEYS: u32 = 64;
const SLICE: u32 = 4;
const HELD: u32 = 16;
const HALF: u32 = 32; // threads along the keys; one has key i and i + HALF
const LOWEST: f32 = -3e38;

var<workgroup> q_slice: array<vec4<f32>, 4 * QUERIES>;         // [channel][query/4], four queries each
var<workgroup> k_slice: array<vec4<f32>, SLICE * KEYS>;        // [channel/4][key], four channels each
var<workgroup> p: array<vec4<f32>, KEYS * QUERIES / 4>;        // [key][query/4], four queries each
var<workgroup> decay: array<vec4<f32>, QUERIES / 4>;           // what the sums so far shrink by

// row is where key or query n's q starts, clamped into the frame.
fn row(frame: u32, n: u32) -> u32 {
    return frame + min(n, params.N - 1u) * 3u * params.C4;
}

// load_slice brings SLICE vec4s of channels from c on into workgroup memory,
// zero beyond the last channel.
fn load_slice(frame: u32, query: u32, key: u32, c: u32, local: u32) {
    let k = local / SLICE;
    let s = local % SLICE;
    var v = vec4<f32>();
    if c + s < params.C4 {
        v = load4(qkv[row(frame, key + k) + params.C4 + c + s]);
    }
    k_slice[s * KEYS + k] = v;
    if local < QUERIES {
        var m = mat4x4<f32>();
        if c + s < params.C4 {
            for (var i = 0u; i < 4u; i++) {
                m[i] = params.scale * load4(qkv[row(frame, query + 4u * k + i) + c + s]);
            }
        }
        m = transpose(m);
        for (var i = 0u; i < 4u; i++) {
            q_slice[(4u * s + i) * (QUERIES / 4u) + k] = m[i];
        }
    }
}

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = workgroup + params.first.xyz;
    let quads = QUERIES / 4u;
    let query = group.x * QUERIES;
    let frame = params.qkv_at + group.y * params.N * 3u * params.C4;

    // Scores and softmax: queries 4*quad..+3, keys lane and lane + HALF.
    let quad = local % quads;
    let lane = local / quads;
    let scoring = lane < HALF;
    var maximum = vec4<f32>(LOWEST);
    var sum = vec4<f32>();

    // Values: queries held..+15, channels 4*column..+3.
    let column = local % params.C4;
    let held = local / params.C4 * HELD;
    let holding = held < QUERIES;
    var acc = array<vec4<f32>, HELD>();

    for (var key = 0u; key < params.N; key += KEYS) {
        var s0 = vec4<f32>();
        var s1 = vec4<f32>();
        for (var c = 0u; c < params.C4; c += SLICE) {
            workgroupBarrier();
            load_slice(frame, query, key, c, local);
            workgroupBarrier();
            if scoring {
                for (var s = 0u; s < SLICE; s++) {
                    let k0 = k_slice[s * KEYS + lane];
                    let k1 = k_slice[s * KEYS + lane + HALF];
                    for (var i = 0u; i < 4u; i++) {
                        let q = q_slice[(4u * s + i) * quads + quad];
                        s0 += q * k0[i];
                        s1 += q * k1[i];
                    }
                }
            }
        }
        let has0 = key + lane < params.N;
        let has1 = key + lane + HALF < params.N;
        s0 = select(vec4<f32>(LOWEST), s0, has0);
        s1 = select(vec4<f32>(LOWEST), s1, has1);

        // p serves as scratch for the threads' maxima; nobody reads it now.
        if scoring { p[lane * quads + quad] = max(s0, s1); }
        workgroupBarrier();
        let before = maximum;
        if scoring {
            for (var i = 0u; i < HALF; i++) { maximum = max(maximum, p[i * quads + quad]); }
        }
        workgroupBarrier();
        if scoring {
            let shrink = select(exp2(before - maximum), vec4<f32>(), key == 0u);
            let p0 = select(vec4<f32>(), exp2(s0 - maximum), has0);
            let p1 = select(vec4<f32>(), exp2(s1 - maximum), has1);
            p[lane * quads + quad] = p0;
            p[(lane + HALF) * quads + quad] = p1;
            sum = sum * shrink + p0 + p1;
            if lane == 0u { decay[quad] = shrink; }
        }
        workgroupBarrier();
        if holding {
            for (var i = 0u; i < HELD / 4u; i++) {
                let d = decay[held / 4u + i];
                acc[4u * i] *= d.x;
                acc[4u * i + 1u] *= d.y;
                acc[4u * i + 2u] *= d.z;
                acc[4u * i + 3u] *= d.w;
            }
            let keys = min(KEYS, params.N - key);
            for (var j = 0u; j < keys; j++) {
                let v = load4(qkv[row(frame, key + j) + 2u * params.C4 + column]);
                for (var i = 0u; i < HELD / 4u; i++) {
                    let w = p[j * quads + held / 4u + i];
                    acc[4u * i] += w.x * v;
                    acc[4u * i + 1u] += w.y * v;
                    acc[4u * i + 2u] += w.z * v;
                    acc[4u * i + 3u] += w.w * v;
                }
            }
        }
    }

    workgroupBarrier();
    if scoring { p[lane * quads + quad] = sum; }
    workgroupBarrier();
    if holding {
        for (var i = 0u; i < HELD / 4u; i++) {
            var total = vec4<f32>();
            for (var j = 0u; j < HALF; j++) { total += p[j * quads + held / 4u + i]; }
            for (var k = 0u; k < 4u; k++) {
                let n = query + held + 4u * i + k;
                if n < params.N {
                    o[params.o_at + (group.y * params.N + n) * params.C4 + column] = store4(acc[4u * i + k] / total[k]);
                }
            }
        }
    }
}
