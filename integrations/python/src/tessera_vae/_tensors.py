"""Conversion to bytes of numpy arrays and, if torch is loaded, torch tensors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

Array = TypeVar("Array", npt.NDArray[Any], "torch.Tensor")
"""A numpy array or a torch tensor; results have the type of the argument."""


def torch_of(x: object) -> Any:
    """Return the module torch if x is a tensor, else None, without importing torch for
    other types."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(x, torch.Tensor) else None


def raw(x: object, allowed: Sequence[str]) -> tuple[npt.NDArray[Any], list[int], str]:
    """Return the little-endian bytes of x, its shape and the name of its dtype."""
    if torch := torch_of(x):
        t = cast(Any, x)
        name = str(t.dtype).removeprefix("torch.")
        check(name, allowed)
        t = t.detach().cpu().contiguous().reshape(-1)
        shape = [int(n) for n in cast(Any, x).shape]
        return (t.view(torch.uint8).numpy() if t.numel() else np.empty(0, np.uint8)), shape, name
    if not isinstance(x, np.ndarray):
        raise TypeError(f"a {type(x).__name__}, expected an array of numpy or a tensor of torch")
    check(x.dtype.name, allowed)
    flat = np.ascontiguousarray(x, x.dtype.newbyteorder("<")).reshape(-1)
    return flat.view(np.uint8), list(x.shape), x.dtype.name


def check(name: str, allowed: Sequence[str]) -> None:
    if name not in allowed:
        raise TypeError(f"numbers of dtype {name}, expected {' or '.join(allowed)}")


def like(x: Array, data: bytearray, shape: Sequence[int], dtype: str) -> Array:
    """Convert data to an array if x is one, else to a tensor on x's device."""
    if torch := torch_of(x):
        t = torch.frombuffer(data, dtype=getattr(torch, dtype)).reshape(list(shape))
        return cast(Array, t.to(cast(Any, x).device))
    result: object = array(data, shape, dtype)
    return cast(Array, result)


def array(data: bytearray, shape: Sequence[int], dtype: str) -> npt.NDArray[Any]:
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).reshape(shape)
