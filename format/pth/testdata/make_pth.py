"""Writes the .pth files beside it with torch itself.

    python make_pth.py

Element i of the tensor with number k is ((31 i + 7 k) mod 256 - 128) / 4, exact
in every float type. Written by torch 2.15.0 on Python 3.11.
"""

from collections import OrderedDict
from pathlib import Path

import torch

HERE = Path(__file__).parent


def fill(k, shape, dtype=torch.float32):
    n = 1
    for d in shape:
        n *= d
    values = (torch.arange(n, dtype=torch.int64) * 31 + 7 * k) % 256 - 128
    if dtype in (torch.int64, torch.uint8):
        return values.abs().to(dtype).reshape(shape)
    return (values.to(torch.float64) / 4).to(dtype).reshape(shape)


def save(name, value, **options):
    torch.save(value, HERE / (name + ".pth"), **options)


def network():
    net = torch.nn.Sequential(torch.nn.Conv3d(2, 3, (1, 2, 2)), torch.nn.BatchNorm3d(3))
    for k, t in enumerate(net.state_dict().values()):
        if t.is_floating_point():
            t.copy_(fill(k, t.shape))
    return net


plain = {
    "f32": fill(0, (2, 3, 1, 2)),
    "f16": fill(1, (5,), torch.float16),
    "bf16": fill(2, (3, 3), torch.bfloat16),
    "f64": fill(3, (7,), torch.float64),
    "i64": fill(4, (4,), torch.int64),
    "u8": fill(5, (3,), torch.uint8),
    "scalar": fill(6, ()),
    "empty": fill(7, (4, 0)),
    "one": fill(8, (2, 3)).t()[:, :1],  # a stride that reaches no element
}
save("plain", plain)
save("ordered", network().state_dict())  # an OrderedDict with _metadata
save("parameter", dict(network().named_parameters()))
base = fill(0, (12,))
save("shared", OrderedDict(a=base[:6].view(2, 3), b=base[6:], tied=base[:6].view(2, 3)))
save("nested", {"epoch": 3, "lr": 1e-4, "note": "x" * 300, "big": 1 << 40,
                "state_dict": network().state_dict(), "list": [1, (2, None, True)]})
save("many", {f"block.{i}.weight": fill(i, (2,)) for i in range(60)})  # LONG_BINPUT, SETITEMS
save("tensor", fill(0, (3,)))
save("cached", {"latents": fill(5, (16, 2, 2, 3), torch.bfloat16), "prompt": "a cat", "fps": 16, "size": (16, 24),
                "emb": {"context": fill(6, (1, 2)), "mask": None}})  # as trainers keep latents

eight = (torch.arange(12) / 2).to(torch.float8_e4m3fn)  # storages without a type
save("float8", {"a": eight[:6].view(2, 3), "b": eight[6:], "wide": (torch.arange(4.) * 16).to(torch.float8_e5m2),
                "u16": torch.tensor([1, 65535], dtype=torch.uint16), "scale": torch.tensor(0.5)})

save("transposed", {"ok": fill(0, (2,)), "weight": fill(1, (3, 2)).t()})
save("legacy", plain, _use_new_zipfile_serialization=False)
save("module", network())
save("protocol4", plain, pickle_protocol=4)
