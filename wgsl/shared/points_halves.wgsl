// Products of halves at a point: those of DEPTH vec4s of input channels are added up as
// halves.

const DEPTH: u32 = 4;

// tap{k} adds the products of DEPTH vec4s of channels from c on of temporal tap k, with
// weights from w on.
#each k
fn tap{k}(sums: ptr<function, Sums>, at: ptr<function, array<u32, PIXELS>>, c: u32, w: u32) {
    var parts = Parts();
    for (var d = 0u; d < DEPTH; d++) {
        if c + d < params.C_in4 {
            var row = array<vec4<f16>, PIXELS>();
            for (var p = 0u; p < PIXELS; p++) { row[p] = bitcast<vec4<f16>>(x{k}[params.x{k}_at + (*at)[p] + c + d]); }
            for (var i = 0u; i < 4u; i++) {
                let m = halves(weight[(w + d * MATRIX) / WIDE + i]);
                for (var p = 0u; p < PIXELS; p++) { add_halves(&parts, p, row[p][i], m); }
            }
        }
    }
    total(sums, &parts);
}
#end
