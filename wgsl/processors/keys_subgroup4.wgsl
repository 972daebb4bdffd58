// Four vec4s of keys or values, common to a subgroup of four: each invocation loads one
// and broadcasts it. The kernel binds kv.

enable subgroups;
diagnostic(off, subgroup_uniformity);

fn fours(at: u32) -> mat4x4<f32> {
    let mine = load4(kv[at]);
    return mat4x4<f32>(subgroupBroadcast(mine, 0u), subgroupBroadcast(mine, 1u), subgroupBroadcast(mine, 2u), subgroupBroadcast(mine, 3u));
}
