// under{k} loads the pixels of temporal tap k under a row's taps.

#unroll k 3
fn under{k}(row: ptr<function, Row>, column: ptr<function, Columns>, at: u32, here: bool) {
#unroll q INPUTS
    (*row)[{q}] = select(vec4<f32>(), load4(x{k}[params.x{k}_at + at + (*column).at[{q}]]), (*column).inside[{q}] && here);
#end
}
#end
