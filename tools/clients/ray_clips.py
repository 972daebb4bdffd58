"""Runs integrations/ray/clips.py on two real Ray nodes, one with Mesa's lavapipe and
one with SwiftShader: 40 clips, while a worker and then a worker's program are killed.
Every output must exist once and equal that of `tessera decode` with the same driver.

tools/clients.sh ray installs its requirements and runs it:

    python tools/clients/ray_clips.py --tessera FILE --model FILE --folder DIR DRIVER DRIVER
"""

import argparse
import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIPS = 40


def main():
    p = argparse.ArgumentParser()
    for name in ("tessera", "model", "folder"):
        p.add_argument("--" + name, required=True, type=os.path.abspath)
    p.add_argument("drivers", nargs=2)
    o = p.parse_args()
    shutil.rmtree(o.folder, ignore_errors=True)
    for name in ("in", "out", "single"):
        os.makedirs(os.path.join(o.folder, name))
    names = [f"clip{i:02}" for i in range(CLIPS)]
    random = numpy.random.default_rng(7)
    manifest = os.path.join(o.folder, "clips.jsonl")
    with open(manifest, "w") as f:
        for i, name in enumerate(names):
            z = random.standard_normal((16, 1 + i % 4, 8 + i % 3, 8), dtype=numpy.float32)
            numpy.save(os.path.join(o.folder, "in", name), z)
            f.write(json.dumps({"input": file(o, "in", name), "output": file(o, "out", name), "op": "decode"}) + "\n")
        f.write(json.dumps({"input": file(o, "in", "missing"), "output": file(o, "out", "missing"), "op": "decode"}) + "\n")

    begun = time.monotonic()
    with contextlib.ExitStack() as ends:
        address = nodes(o, ends)
        results, killed = run(o, address, manifest)
    results.sort(key=lambda r: r["name"])
    assert [r["name"] for r in results] == [*names, "missing"], "results are not one of each clip"
    assert all(r["status"] in ("done", "skipped") for r in results[:-1]), results
    assert results[-1]["exit_code"] == 3, results[-1]
    assert running(o) == [], "programs are left"
    there = sorted(os.listdir(os.path.join(o.folder, "out")))
    assert there == sorted(n + e for n in names for e in (".npy", ".npy.done.json")), there

    adapters = {}
    for name in names:
        with open(file(o, "out", name) + ".done.json") as f:
            adapter = json.load(f)["adapter"]
        driver = o.drivers["SwiftShader" in adapter]
        subprocess.run([o.tessera, "decode", "-m", o.model, file(o, "in", name), "-o", file(o, "single", name), "-q"], check=True, env=environment(driver))
        with open(file(o, "out", name), "rb") as a, open(file(o, "single", name), "rb") as b:
            assert a.read() == b.read(), f"{name} by {adapter} differs"
        adapters[adapter] = adapters.get(adapter, 0) + 1
    assert len(adapters) == 2, adapters
    print(f"ray: {CLIPS} clips, killed: {killed}, made by {adapters}: {time.monotonic() - begun:.0f} s")


def file(o, folder, name):
    return os.path.join(o.folder, folder, name + ".npy")


def environment(driver):
    return {**os.environ, "VK_DRIVER_FILES": driver, "VK_ICD_FILENAMES": driver, "RAY_USAGE_STATS_ENABLED": "0", "TESSERA_NO_TUNE": "1"}


def nodes(o, ends):
    """Start two nodes, each with its own driver and card."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % s.getsockname()[1]
    short = ends.enter_context(tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True))  # because sockets' names are short
    ray = os.path.join(os.path.dirname(sys.executable), "ray")
    for i, driver in enumerate(o.drivers):
        who = ["--address=" + address] if i else ["--head", "--port=" + address.split(":")[1], "--include-dashboard=false", "--temp-dir=" + short]
        log = ends.enter_context(open(os.path.join(o.folder, f"node{i}.log"), "w"))
        node = subprocess.Popen(
            [ray, "start", "--block", "--node-ip-address=127.0.0.1", "--num-cpus=2", '--resources={"card": 1}', "--object-store-memory=100000000", *who],
            stdout=log, stderr=log, env=environment(driver),
        )
        ends.callback(end, node)
        until = time.monotonic() + 120
        while "Ray runtime started" not in open(log.name).read():
            assert node.poll() is None and time.monotonic() < until, open(log.name).read()
            time.sleep(0.2)
    return address


def end(node):
    node.terminate()
    try:
        node.wait(30)
    except subprocess.TimeoutExpired:
        node.kill()


def running(o):
    """Processes of the program that run batches, and their parents, oldest first."""
    found = []
    for folder in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):
            with open(folder + "/cmdline") as f:
                words = f.read().split("\0")
            if words[:2] != [o.tessera, "batch"]:
                continue
            with open(folder + "/stat") as f:
                after = f.read().rpartition(")")[2].split()
            found.append((int(after[19]), int(folder[6:]), int(after[1])))
    return [(pid, parent) for _, pid, parent in sorted(found)]


def run(o, address, manifest):
    """Run the clips and return their results. A worker is killed after a quarter of them,
    and a worker's program after half."""
    killed = []
    command = [sys.executable, os.path.join(ROOT, "integrations", "ray", "clips.py"), manifest, "--workers=2", "--resource=card", "--program=" + o.tessera]
    out, log = os.path.join(o.folder, "results.jsonl"), os.path.join(o.folder, "clips.log")
    with open(out, "w") as stdout, open(log, "w") as stderr:
        clips = subprocess.Popen([*command, "--", "-m", o.model], stdout=stdout, stderr=stderr, env={**environment(o.drivers[0]), "RAY_ADDRESS": address})
        while clips.poll() is None:
            done = len(glob.glob(os.path.join(o.folder, "out", "*.done.json")))
            workers = running(o)
            if len(workers) == 2 and done >= CLIPS * (len(killed) + 1) // 4 and len(killed) < 2:
                program, worker = workers[0]
                os.kill([worker, program][len(killed)], signal.SIGKILL)
                killed.append(["a worker", "a program"][len(killed)])
            time.sleep(0.05)
    with open(log) as f:
        assert clips.returncode == 3, f.read()[-8000:]
    assert len(killed) == 2, killed
    until = time.monotonic() + 20
    while running(o) and time.monotonic() < until:
        time.sleep(0.2)
    with open(out) as f:
        return [json.loads(line) for line in f], " and ".join(killed)


if __name__ == "__main__":
    main()
