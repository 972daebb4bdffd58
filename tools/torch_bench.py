"""Times Tessera and PyTorch on one processor, in turns. torch.sh runs it."""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
from safetensors.torch import save_file

import torch_vae

SMALL, PUBLISHED, PICTURES = "tiny-seedvr2.safetensors", "published.safetensors", "sd.safetensors"
CASES = [  # name, model, operation, frames, side
    ("demo, image", SMALL, "decode", 1, 256),
    ("demo, image", SMALL, "encode", 1, 256),
    ("demo, clip", SMALL, "decode", 9, 128),
    ("demo, clip", SMALL, "encode", 9, 128),
    ("published, image", PUBLISHED, "decode", 1, 64),
    ("published, image", PUBLISHED, "encode", 1, 64),
    ("published, clip", PUBLISHED, "decode", 9, 64),
    ("published, clip", PUBLISHED, "encode", 9, 64),
    ("sd, image 512", PICTURES, "decode", 1, 512),
    ("sd, image 1024", PICTURES, "decode", 1, 1024),
]
ALLOWED = 1e-6  # largest NMSE of results


class Program:
    """Tessera on one driver: in a chroot, or here."""

    def __init__(self, folder, chroot):
        self.folder, self.chroot = os.path.abspath(folder), chroot

    def run(self, *args):
        command = ["./tessera", *args]
        if self.chroot:
            dawn = os.environ["TESSERA_DAWN"]
            script = """
                set -e; root=$1 here=$2 dawn=$3; shift 3
                mkdir -p "$root/tessera/here" "$root/tessera/dawn"
                mount --bind "$here" "$root/tessera/here"
                mount --bind "$(dirname "$(readlink -f "$dawn")")" "$root/tessera/dawn"
                mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
                mountpoint -q "$root/dev" || mount --rbind /dev "$root/dev"
                exec chroot "$root" env -u VK_ICD_FILENAMES HOME=/tessera/here XDG_CACHE_HOME=/tessera/here/cache \\
                    VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json TESSERA_DAWN="/tessera/dawn/$(basename "$dawn")" \\
                    sh -c 'cd /tessera/here && exec "$@"' x "$@"
            """
            command = ["unshare", "--mount", "sh", "-c", script, "x", self.chroot, self.folder, dawn, *command]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"torch: {' '.join(args)}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def seconds(self, model, op, frames, side):
        """Seconds of the second run in one process."""
        report = json.loads(self.run("--json", "-q", "--progress=none", "bench", op, "-m", model, "--precision=f32", "--seconds=1", f"--size={side}x{side}", f"--frames={frames}", "--tile=off"))
        return report["jobs"][0]["seconds"], report

    def result(self, model, op, given):
        """The result for numbers."""
        np.save(f"{self.folder}/in.npy", given)
        common = ["-q", "--progress=none", "--precision=f32", "--tile=off", "-m", model, "in.npy", "-o", "out.npy"]
        self.run(op, *common, "--scale=none")
        return torch.from_numpy(np.load(f"{self.folder}/out.npy"))


def net(folder, model):
    path = f"{folder}/{model}"
    if model == SMALL:
        return torch_vae.SeedVR2(torch_vae.stored(path), (24, 32, 48, 48), 16, 8)
    kind = torch_vae.KL if model == PICTURES else torch_vae.SeedVR2
    if not os.path.exists(path):  # weights by name and shape, as requested
        torch.manual_seed(1)
        made, made_up = {}, torch_vae.made_up("cpu", torch.float16)

        def weight(name, shape):
            made[name] = made_up(name, shape)
            return made[name].float()

        n = kind(weight)
        n.decode(torch.zeros(1, n.latent, 1, 1, 1))
        if model == PUBLISHED:
            n.encode(torch.zeros(1, 3, 1, 8, 8))
        save_file(made, path)
    return kind(torch_vae.stored(path))


def given(latent, op, frames, side):
    shape = (latent, 1 + (frames - 1) // 4, side // 8, side // 8) if op == "decode" else (3, frames, side, side)
    x = torch_vae.values("latent" if op == "decode" else "input", math.prod(shape)).reshape(shape)
    return x.float()


def main():
    a = argparse.ArgumentParser()
    for name, default in (("folder", "."), ("goldens", ""), ("chroot", ""), ("only", "")):
        a.add_argument("-" + name, default=default)
    a.add_argument("-turns", type=int, default=5)
    o = a.parse_args()
    torch.set_grad_enabled(False)
    if torch_vae.check(o.goldens):
        sys.exit("torch: torch_vae.py does not compute what the goldens say")
    programs = [Program(o.folder, "")] + ([Program(o.folder, o.chroot)] if o.chroot else [])
    nets, rows, adapters = {}, [], {}
    for name, model, op, frames, side in CASES:
        if o.only not in name or not o.only and model == PICTURES:
            continue
        n = nets.setdefault(model, None) or net(o.folder, model)
        nets[model] = n
        x = given(n.latent, op, frames, side)

        def theirs():
            start = time.perf_counter()
            y = getattr(n, op)(x[None])[0]
            return time.perf_counter() - start, y

        want = theirs()[1]  # the first run is not timed
        if op == "encode":
            want = want[:16]
        errors = []
        for p in programs:
            got = p.result(model, op, x.numpy())
            errors.append(torch_vae.nmse(got.double(), want.double().clamp(-1, 1) if op == "decode" and got.abs().max() <= 1 else want.double()))
        if not max(errors) < ALLOWED:
            sys.exit(f"torch: {name}, {op}: NMSE {errors}, allowed is {ALLOWED}")
        took = [[] for _ in range(1 + len(programs))]
        for _ in range(o.turns):
            took[0].append(theirs()[0])
            for i, p in enumerate(programs):
                seconds, report = p.seconds(model, op, frames, side)
                took[1 + i].append(seconds)
                adapters[i] = f"{report['adapter']}, {report['driver']}"
        took = [statistics.median(t) for t in took]
        ratios = " | ".join(f"{1e3 * t:.0f} | {t / took[0]:.2f} | {e:.0e}" for t, e in zip(took[1:], errors))
        rows.append(f"| {name}, {op} | {frames} × {side}×{side} | {1e3 * took[0]:.0f} | {ratios} |")
        print(rows[-1], flush=True)
    print(f"\nPyTorch {torch.__version__}, {torch.get_num_threads()} threads, f32, eager; medians of {o.turns} turns\n")
    for i, text in sorted(adapters.items()):
        print(f"Adapter {i + 1}: {text}  ")
    head = "".join(f" {i + 1}, ms | ratio | NMSE |" for i in range(len(programs)))
    print(f"\n| | clip | PyTorch, ms |{head}\n|---|---|---|{'---|---|---|' * len(programs)}")
    print("\n".join(rows))


main()
