# Replays the cases of the operation tables on wgpu, which compiles and runs WGSL in
# Firefox. tools/wgpu.sh writes them (gpu/gputest/export.go describes their format) and
# runs this. The device has WebGPU's default limits.
import collections
import json
import multiprocessing
import pathlib
import sys

import numpy as np
import wgpu
import wgpu.backends.wgpu_native as native

LOOSEST = 1e-4  # as in gpu/gputest/compare.go
GUARD, POISON = 0x7FED, 0xFFF1  # halves, as in gpu/gputest/array.go
MOST_GROUPS = 65535
SLOT = 256  # bytes of a dispatch's params
TYPES = {"f32": np.float32, "f16": np.float16, "u32": np.uint32}


class Failure(Exception):
    pass


def compare(got, want, bound):
    """Compare like gputest.Compare."""
    if not 0 <= bound <= LOOSEST:
        raise Failure(f"bound {bound} is not in [0, {LOOSEST}]")
    if got.shape != want.shape:
        raise Failure(f"{got.size} numbers, want {want.size}")
    special = ~np.isfinite(want) | (want == 0) | (bound == 0)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    bad = np.flatnonzero(np.where(special, ~same, ~np.isfinite(got)))
    if bad.size:
        raise Failure(f"first bad index {bad[0]}: got {got[bad[0]]}, want {want[bad[0]]}")
    error = (got - want)[~special]
    if error.any():
        nmse = (error**2).sum() / (want[~special] ** 2).sum()
        if not nmse <= bound:
            raise Failure(f"NMSE {nmse:.3g}, bound {bound:.3g}; largest error {abs(error).max():.3g}")


def chunks(groups):
    """Split a grid into boxes that every device can dispatch, as (start, size)."""
    for z in range(0, groups[2], MOST_GROUPS):
        for y in range(0, groups[1], MOST_GROUPS):
            for x in range(0, groups[0], MOST_GROUPS):
                start = (x, y, z)
                yield start, [min(g - at, MOST_GROUPS) for g, at in zip(groups, start)]


class Replay:
    def __init__(self):
        adapters = wgpu.gpu.enumerate_adapters_sync()
        self.adapter = next(a for a in adapters if a.info["backend_type"] == "Vulkan")
        self.features = sorted({"shader-f16"} & set(self.adapter.features))
        self.device = self.adapter.request_device_sync(required_features=self.features)
        self.programs = {}

    def __str__(self):
        info = self.adapter.info
        return f"wgpu-native {'.'.join(map(str, native.lib_version_info))}, {info['device']}, {info['description']}"

    def program(self, p, size):
        """Create the pipeline and the layout of its bindings."""
        key = json.dumps([p["source"], p["constants"], p["writes"], size], sort_keys=True)
        if key not in self.programs:
            entries = [{"type": "uniform", "has_dynamic_offset": True, "min_binding_size": size}]
            entries += [{"type": "storage" if w else "read-only-storage"} for w in p["writes"]]
            layout = self.device.create_bind_group_layout(entries=[
                {"binding": i, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": e} for i, e in enumerate(entries)])
            module = self.device.create_shader_module(code=p["source"], label=p["label"])
            pipeline = self.device.create_compute_pipeline(
                layout=self.device.create_pipeline_layout(bind_group_layouts=[layout]),
                compute={"module": module, "entry_point": "main", "constants": p["constants"] or {}})
            self.programs[key] = pipeline, layout
        return self.programs[key]

    def buffers(self, case, data):
        usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        out = []
        for b in case["buffers"]:
            if b["data"]:
                start = data[b["data"]["at"]:][:b["data"]["bytes"]]
            else:
                start = np.full(b["size"] // 2, POISON, "<u2").tobytes()
            assert len(start) == b["size"]
            buffer = self.device.create_buffer(size=b["size"], usage=usage, label=b["label"])
            self.device.queue.write_buffer(buffer, 0, start)
            out.append(buffer)
        return out

    def submit(self, case, buffers):
        """Run the commands in order; a dispatch wider than the grid's limit is cut."""
        encoder = self.device.create_command_encoder()
        slots, dispatches = [], []
        for c in case["commands"]:
            for start, size in chunks(c["groups"]) if c["groups"] else []:
                words = [*start, c["groups"][0], *c["params"][4:]]
                slots.append(np.array(words, "<u4").tobytes().ljust(SLOT, b"\0"))
                dispatches.append((c, size, SLOT * (len(slots) - 1)))
            if not c["groups"]:
                dispatches.append((c, None, 0))
        uniform = self.device.create_buffer_with_data(data=b"".join(slots) or bytes(SLOT), usage=wgpu.BufferUsage.UNIFORM)
        for c, size, offset in dispatches:
            if size is None:
                self.move(encoder, buffers, c)
                continue
            pipeline, layout = self.program(case["programs"][c["program"]], 4 * len(c["params"]))
            entries = [{"binding": 0, "resource": {"buffer": uniform, "offset": 0, "size": 4 * len(c["params"])}}]
            for i, v in enumerate(c["bindings"]):
                entries.append({"binding": i + 1, "resource": {"buffer": buffers[v["buffer"]], "offset": v["offset"], "size": v["size"]}})
            group = self.device.create_bind_group(layout=layout, entries=entries)
            compute = encoder.begin_compute_pass()
            compute.set_pipeline(pipeline)
            compute.set_bind_group(0, group, [offset])
            compute.dispatch_workgroups(*size)
            compute.end()
        self.device.queue.submit([encoder.finish()])

    @staticmethod
    def move(encoder, buffers, c):
        dst, src = c["dst"], c["src"]
        if src:
            encoder.copy_buffer_to_buffer(buffers[src["buffer"]], src["offset"], buffers[dst["buffer"]], dst["offset"], dst["size"])
        else:
            encoder.clear_buffer(buffers[dst["buffer"]], dst["offset"], dst["size"])

    def run(self, case, data):
        buffers = self.buffers(case, data)
        try:
            self.submit(case, buffers)
            self.check(case, data, buffers)
        finally:
            for b in buffers:
                b.destroy()

    def check(self, case, data, buffers):
        read = lambda i: bytes(self.device.queue.read_buffer(buffers[i]))
        for i in case["in"]:
            b = case["buffers"][i]
            if read(i) != data[b["data"]["at"]:][:b["size"]]:
                raise Failure(f"input {b['label']} changed")
        guard, inner = case["guard"], []
        clean = np.full(guard // 2, GUARD, "<u2").tobytes()
        for n, i in enumerate(case["out"]):
            out = read(i)
            if out[:guard] != clean or out[len(out) - guard:] != clean:
                raise Failure(f"run {n + 1} wrote outside of {case['buffers'][i]['label']}")
            inner.append(out[guard:len(out) - guard])
        want = np.frombuffer(data, "<f8", case["want"]["bytes"] // 8, case["want"]["at"])
        compare(np.frombuffer(inner[0], TYPES[case["format"]]).astype(np.float64), want, case["bound"])
        if inner[0] != inner[1]:
            raise Failure("two runs differ")



def load(path):
    return json.loads(path.read_text()), path.with_suffix(".bin").read_bytes()


def start():
    """Create a process's device."""
    global replay
    replay = Replay()


SUBGROUPS = "naga knows no `enable subgroups`, and Firefox offers none: such kernels are for others"
HALVES = "naga makes no halves of words by `bitcast`; such kernels are native programs' alone"
OTHERS = (SUBGROUPS, HALVES)


def lacks(sources):
    if any("\nenable subgroups;\n" in "\n" + s for s in sources):
        return SUBGROUPS
    if any("bitcast<vec4<f16>>" in s for s in sources):
        return HALVES
    f16 = any(s.startswith("enable f16;") for s in sources)
    return "no shader-f16" if f16 and "shader-f16" not in replay.features else ""


def one(path):
    """Run a case: its operation, test, outcome, reason, and texts."""
    case, data = load(path)
    texts = [p["source"] for p in case["programs"]]
    if why := lacks(texts):
        return case["op"], case["test"], "skipped", why, texts
    try:
        replay.run(case, data)
    except (Failure, wgpu.GPUError) as e:
        return case["op"], case["test"], "failed", str(e), texts
    return case["op"], case["test"], "passed", "", texts


def compiles(path):
    """Compile a text: its name, outcome, reason, and the text."""
    text = path.read_text()
    if why := lacks([text]):
        return path.name, "skipped", why, text
    try:
        replay.device.create_shader_module(code=text, label=path.name)
    except wgpu.GPUError as e:
        return path.name, "failed", str(e), text
    return path.name, "passed", "", text


def spoilt(path):
    """Every way to spoil a good case, to show that the comparison detects it."""
    case, data = load(path)
    want = case["want"]
    number = np.frombuffer(data, "<f8", 1, want["at"])[0] + 1
    yield "another result", case, data[:want["at"]] + np.float64(number).tobytes() + data[want["at"] + 8:]
    yield "fewer results", case | {"want": want | {"bytes": want["bytes"] - 8}}, data
    yield "a looser bound", case | {"bound": 1e-3}, data
    yield "poison left", case | {"commands": case["commands"][:0]}, data
    yield "one run of two", case | {"commands": case["commands"][:len(case["commands"]) // 2]}, data
    yield "a guard written", case | {"guard": case["guard"] + 2}, data
    yield "zeros for all input", case, bytes(want["at"]) + data[want["at"]:]


def unnoticed(path):
    start()
    for how, case, data in spoilt(path):
        try:
            replay.run(case, data)
            yield how
        except Failure:
            pass


def main(folder):
    cases, texts = sorted(folder.glob("*.json")), sorted(folder.glob("*.wgsl"))
    with multiprocessing.Pool(initializer=start) as pool:
        compiled = pool.map(compiles, texts)
        runs = list(pool.imap_unordered(one, cases, chunksize=8))
    print(f"wgpu: {Replay()}")
    count = collections.Counter(what for _, what, *_ in compiled)
    print(f"wgpu: {count['passed']} shader texts compiled, {count['skipped']} skipped, {count['failed']} failed")
    missed = {text for *_, text in compiled} - {text for *_, used in runs for text in used}
    bad = [f"{name}: {what}: {why}" for name, what, why, text in compiled if what != "passed" and why not in OTHERS]
    bad += [f"{name}: in no case" for name, *_, text in compiled if text in missed]
    bad += sorted(f"{test} ({op}): {what}: {why}" for op, test, what, why, _ in runs if what != "passed" and why not in OTHERS)
    for other in OTHERS:
        print(f"wgpu: {sum(why == other for *_, why, _ in runs)} cases skipped: {other}")
    for line in bad:
        print(f"wgpu: {line}")
    for op, n in sorted(collections.Counter(op for op, _, what, *_ in runs if what == "passed").items()):
        print(f"wgpu: {n:4} {op}")
    count = collections.Counter(what for _, _, what, *_ in runs)
    print(f"wgpu: {count['passed']} cases passed, {count['skipped']} skipped, {count['failed']} failed")
    small = min(folder.glob("TestConv3D_*_f32.1.json"), key=lambda c: c.with_suffix(".bin").stat().st_size)
    blind = list(unnoticed(small))
    for how in blind:
        print(f"wgpu: {small.stem} with {how} passes, too")
    if blind or count["failed"] or not count["passed"] or any(what == "failed" for _, what, *_ in compiled):
        sys.exit(1)


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main(pathlib.Path(sys.argv[1]))
