// Products of one pixel for each temporal tap, four input channels at a time.

// tap{k} adds the products of four channels c of temporal tap k, with weights from w on.
#unroll k 3
fn tap{k}(sums: ptr<function, Sums>, at: ptr<function, array<u32, PIXELS>>, c: u32, w: u32) {
    if BLOCKS == 1u {
        let m = matrix(w);
#unroll p PIXELS
        add(sums, {p}u, load4(x{k}[params.x{k}_at + (*at)[{p}] + c]), m);
#end
        return;
    }
    var row = array<vec4<f32>, PIXELS>();
    for (var p = 0u; p < PIXELS; p++) { row[p] = load4(x{k}[params.x{k}_at + (*at)[p] + c]); }
    for (var b = 0u; b < BLOCKS; b++) {
        let m = matrix(w + b * params.weight_stride);
        for (var p = 0u; p < PIXELS; p++) { add(sums, b * PIXELS + p, row[p], m); }
    }
}
#end
