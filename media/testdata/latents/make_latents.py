"""Writes the latents of this folder with the libraries that write them.

    python make_latents.py

Each holds [16,2,2,3], if not said otherwise, whose value i is (i mod 256 - 128) / 64,
exact in every float type. Written by torch 2.15.0 and NumPy 2.4.6 on Python 3.11.
"""

from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent


def fill(*shape):
    return torch.arange(int(np.prod(shape))).remainder(256).sub(128).div(64).reshape(shape)


z = fill(16, 2, 2, 3)
torch.save(z, HERE / "alone.pt")
torch.save({"samples": z.half().unsqueeze(0), "batch_index": [0], "noise_mask": None}, HERE / "samples.pt")
torch.save({"latents": z.bfloat16(), "prompt": "a cat", "emb": {"context": fill(1, 4)}}, HERE / "cached.pth")
torch.save({"a": z, "b": z}, HERE / "two.pt")
torch.save([z], HERE / "list.pt")
torch.save(z.permute(1, 0, 2, 3), HERE / "permuted.pt")
np.savez(HERE / "named.npz", latent=z.numpy(), other=np.zeros(3))
np.savez_compressed(HERE / "packed.npz", z.numpy().astype(np.float16))
np.savez(HERE / "two.npz", a=z.numpy(), b=z.numpy())
