"""What PyTorch does on the same card: called by gpu.sh, prints markdown.

A matrix product for the card's own peak, the convolutions that `tessera bench`
has, in bf16 and eager, and whole decodes where a reference model is installed:
diffusers' AutoencoderKLWan with weights that are made up, and SeedVR2's from a
checkout that SEEDVR2 names. What is not there is said.
"""

import os
import sys
import time


def best(work, torch, runs=5):
    """Seconds of the quickest run, after one that warms up."""
    work()
    took = []
    for _ in range(runs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - start)
    return min(took)


def products(torch):
    rows = []
    n = 8192
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    rows.append((f"matrix product {n}³", 2 * n**3, best(lambda: a @ b, torch)))
    for c, frames, side in ((128, 4, 256), (256, 4, 256), (512, 2, 256), (96, 4, 256)):
        conv = torch.nn.Conv3d(c, c, 3, padding=(0, 1, 1)).to("cuda", torch.bfloat16)
        x = torch.randn(1, c, frames + 2, side, side, device="cuda", dtype=torch.bfloat16)
        flops = 2 * 27 * c * c * frames * side * side
        for name, layout in (("", torch.contiguous_format), (", channels last", torch.channels_last_3d)):
            conv, x = conv.to(memory_format=layout), x.to(memory_format=layout)
            seconds = best(lambda: conv(x), torch)
            rows.append((f"conv3d 3×3×3 {c}→{c} on {frames}×{side}×{side}{name}", flops, seconds))
    print("| bf16, eager | ms | TFLOP/s |\n|---|---|---|")
    for name, flops, seconds in rows:
        print(f"| {name} | {1e3 * seconds:.2f} | {flops / seconds / 1e12:.1f} |")
    print()


def wan(torch, sizes, frames):
    """Decodes with diffusers' class; its configuration is Wan 2.1's by default."""
    try:
        from diffusers import AutoencoderKLWan
    except Exception as reason:  # a broken installation, too
        print(f"Wan 2.1: skipped: no diffusers ({type(reason).__name__})\n")
        return
    model = AutoencoderKLWan().to("cuda", torch.bfloat16).eval()
    print("| Wan 2.1 of diffusers, bf16, eager | s |\n|---|---|")
    for width, height in sizes:
        z = torch.randn(1, 16, 1 + (frames + 2) // 4, height // 8, width // 8, device="cuda", dtype=torch.bfloat16)
        try:
            seconds = best(lambda: model.decode(z), torch, runs=2)
            print(f"| decode {frames} × {width}×{height} | {seconds:.3f} |")
        except torch.cuda.OutOfMemoryError:
            print(f"| decode {frames} × {width}×{height} | out of memory |")
    print()


def seedvr2(torch, sizes, frames):
    """Decodes with the original module, from a checkout of ByteDance's SeedVR."""
    path = os.environ.get("SEEDVR2")
    if not path:
        print("SeedVR2: skipped: SEEDVR2 names no checkout of the original\n")
        return
    try:
        sys.path.insert(0, path)
        from models.video_vae_v3.modules.attn_video_vae import VideoAutoencoderKLWrapper
        from omegaconf import OmegaConf

        settings = OmegaConf.load(os.path.join(path, "models/video_vae_v3/s8_c16_t4_inflation_sd3.yaml"))
        model = VideoAutoencoderKLWrapper(**settings, freeze_encoder=False).to("cuda", torch.bfloat16).eval()
    except Exception as reason:  # whatever of it is not installed
        print(f"SeedVR2: skipped: {type(reason).__name__}: {str(reason)[:120]}\n")
        return
    print("| SeedVR2, original, bf16, eager | s |\n|---|---|")
    for width, height in sizes:
        z = torch.randn(1, 16, 1 + (frames + 2) // 4, height // 8, width // 8, device="cuda", dtype=torch.bfloat16)
        try:
            print(f"| decode {frames} × {width}×{height} | {best(lambda: model.decode(z), torch, runs=2):.3f} |")
        except torch.cuda.OutOfMemoryError:
            print(f"| decode {frames} × {width}×{height} | out of memory |")
    print()


def main():
    try:
        import torch
    except Exception as reason:
        print(f"skipped: no torch ({type(reason).__name__})")
        return
    if not torch.cuda.is_available():
        print(f"skipped: PyTorch {torch.__version__} has no CUDA device")
        return
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}\n")
    sizes = [tuple(map(int, s.split("x"))) for s in os.environ.get("SIZES", "1280x720 1920x1080").split()]
    frames = int(os.environ.get("FRAMES", "5"))
    with torch.inference_mode():
        products(torch)
        wan(torch, sizes, frames)
        seedvr2(torch, sizes, frames)


main()
