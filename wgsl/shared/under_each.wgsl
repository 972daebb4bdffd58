// under{k} loads the pixels of temporal tap k under a row's taps.

#each k
fn under{k}(row: ptr<function, Row>, column: ptr<function, Columns>, at: u32, here: bool) {
#each q
    (*row)[{q}] = select(vec4<f32>(), load4(x{k}[params.x{k}_at + at + (*column).at[{q}]]), (*column).inside[{q}] && here);
#end
}
#end
