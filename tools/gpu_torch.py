"""Measures PyTorch on the same card: called by gpu.sh, prints markdown.

A matrix product for the card's peak, the convolutions of `tessera bench`, and the
decodes that gpu.sh requests as MODEL:WxH:FRAMES, by torch_vae.py's networks with
random weights: all of it bf16 and eager. It reports what does not fit the memory.
"""

import sys
import time


def best(work, torch, runs=5):
    """Seconds of the fastest run, after one that warms up."""
    work()
    took = []
    for _ in range(runs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - start)
    return min(took)


def decodes(torch, jobs):
    import torch_vae

    print("| bf16, eager | s | peak MiB |\n|---|---|---|", flush=True)
    nets = {}
    for job in jobs:
        name, size, frames = job.split(":")
        (width, height), frames = map(int, size.split("x")), int(frames)
        if name not in nets:
            kind = {"seedvr2": torch_vae.SeedVR2, "wan2.1": torch_vae.Wan21}[name]
            nets[name] = kind(torch_vae.made_up("cuda", torch.bfloat16))
        z = torch.randn(1, 16, 1 + (frames + 2) // 4, height // 8, width // 8, device="cuda", dtype=torch.bfloat16)
        torch.cuda.reset_peak_memory_stats()
        try:
            seconds = f"{best(lambda: nets[name].decode(z), torch, runs=2):.3f}"
        except torch.cuda.OutOfMemoryError:
            seconds = "out of memory"
        nets[name].memory.clear()
        print(f"| {name} decode {frames} × {size} | {seconds} | {torch.cuda.max_memory_allocated() >> 20} |", flush=True)
    print()


def products(torch):
    n = 8192
    print("| bf16, eager | ms | TFLOP/s |\n|---|---|---|", flush=True)

    def row(name, flops, seconds):
        print(f"| {name} | {1e3 * seconds:.2f} | {flops / seconds / 1e12:.1f} |", flush=True)

    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    row(f"matrix product {n}³", 2 * n**3, best(lambda: a @ b, torch))
    for c, frames, side in ((128, 4, 256), (256, 4, 256), (512, 2, 256), (96, 4, 256)):
        conv = torch.nn.Conv3d(c, c, 3, padding=(0, 1, 1)).to("cuda", torch.bfloat16)
        x = torch.randn(1, c, frames + 2, side, side, device="cuda", dtype=torch.bfloat16)
        flops = 2 * 27 * c * c * frames * side * side
        for name, layout in (("", torch.contiguous_format), (", channels last", torch.channels_last_3d)):
            conv, x = conv.to(memory_format=layout), x.to(memory_format=layout)
            row(f"conv3d 3×3×3 {c}→{c} on {frames}×{side}×{side}{name}", flops, best(lambda: conv(x), torch))
    print()


def main(jobs):
    try:
        import torch
    except Exception as reason:
        print(f"skipped: no torch ({type(reason).__name__})")
        return
    if not torch.cuda.is_available():
        print(f"skipped: PyTorch {torch.__version__} has no CUDA device")
        return
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}\n")
    with torch.inference_mode():
        decodes(torch, jobs)
        products(torch)


if __name__ == "__main__":
    main(sys.argv[1:])
