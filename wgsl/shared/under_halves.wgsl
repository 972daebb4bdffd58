// under{k} loads the pixels of temporal tap k under a row's taps, as halves.

#each k
fn under{k}(row: ptr<function, Row>, column: ptr<function, Columns>, at: u32, here: bool) {
#each q
    (*row)[{q}] = bitcast<vec4<f16>>(select(vec2<u32>(), x{k}[params.x{k}_at + at + (*column).at[{q}]], (*column).inside[{q}]));
#end
}
#end
