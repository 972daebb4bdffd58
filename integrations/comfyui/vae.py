"""A VAE for all of ComfyUI's nodes: ComfyUI's own object with a server as its network.

ComfyUI's methods stay as they are, so cropping, batches, tiles and their seams are
ComfyUI's. A local engine takes part in ComfyUI's memory management: it asks for room
before it works and ends when ComfyUI wants its memory.
"""

import contextlib
import functools
import json
import os

import torch

import comfy.model_management
import comfy.model_patcher
import comfy.sd
import comfy.utils

from .client import TesseraError
from .engine import Local
from .request import Bar, Request

# Bytes that a plan needs per pixel of a frame with f32 activations; f16 needs half.
# SeedVR2 needs most, see docs/benchmarks/plan.md.
PIXEL = 12000


class VAE(comfy.sd.VAE):
    """A VAE whose decoding and encoding a server does."""

    def __init__(self, server, halves=False):
        network = Network(server)
        # the smallest that ComfyUI supports, for the other attributes of this version
        super().__init__(sd={"pixel_space_vae": torch.tensor(1.0)}, device=torch.device("cpu"), dtype=torch.float32)
        c, cell = network.video.config, network.video.cell
        shown = cell * max(1, c.get("upscale", 0))
        self.first_stage_model = network.eval()
        self.latent_channels, self.output_channels = network.video.channels, c["channels"]
        self.working_dtypes = [torch.float32]
        if network.video.flat:
            self.latent_dim, self.upscale_ratio, self.downscale_ratio = 2, shown, cell
        else:
            t = c["temporal"]
            self.latent_dim = 3
            self.upscale_ratio = (lambda frames: max(0, frames * t - t + 1), shown, shown)
            self.downscale_ratio = (lambda frames: max(0, (frames + t - 1) // t), cell, cell)
            self.upscale_index_formula, self.downscale_index_formula = (t, shown, shown), (t, cell, cell)
        self.crop_input = not c["comfyui_folded"]  # their nodes pass sizes that fit, and batches of clips
        local = isinstance(server, Local)
        pixel = PIXEL // (2 if halves else 1) if local else 0
        self.memory_used_decode = lambda shape, dtype: 1 + pixel * shape[-2] * shape[-1] * shown**2
        self.memory_used_encode = lambda shape, dtype: 1 + pixel * shape[-2] * shape[-1]
        self.size = network.size = vae_bytes(server.file) if local else 0
        device = comfy.model_management.get_torch_device() if local else self.device
        self.patcher = Patcher(network, load_device=device, offload_device=torch.device("cpu"), size=self.size)

    def decode_tiled(self, *args, **kwargs):
        with self.first_stage_model.tiles():
            return super().decode_tiled(*args, **kwargs)

    def encode_tiled(self, *args, **kwargs):
        with self.first_stage_model.tiles():
            return super().encode_tiled(*args, **kwargs)

    def get_sd(self):
        """Return the checkpoint's tensors, for nodes that save a VAE."""
        server = self.first_stage_model.server
        if not isinstance(server, Local):
            raise TesseraError(f"the VAE is on {server.address}: to save it, load its file with Load VAE")
        return weights(server.file)


class Network(torch.nn.Module):
    """The first_stage_model that nodes find; it has no weights here. Latents are
    [B,C,T,h,w] and pixels [B,C,T,H,W] from -1 to 1, or without T for pictures."""

    def __init__(self, server):
        super().__init__()
        self.server = server
        self.video = Request(server, "video", "comfyui")
        self.pictures = Request(server, "pictures", "comfyui")
        self.bar = Bar

    def decode(self, z, **_):
        folded = self.video.config["comfyui_folded"]  # frames among the channels are a clip
        ask = self.pictures if self.video.flat or z.ndim == 4 and not folded else self.video
        clips = ask.clips(z)
        bar = self.bar(len(clips))
        made = torch.stack([ask.decode(clip, bar.part(i)).movedim(-1, 0) for i, clip in enumerate(clips)])
        return split(made, z) if ask is self.pictures else made

    def encode(self, x, **_):
        x = x.detach().to("cpu", torch.float32)
        if x.ndim == 4 or self.video.flat:
            flat = x.movedim(1, -1).reshape(-1, *x.shape[-2:], x.shape[1])
            return split(self.pictures.encode(flat, self.bar(1).part(0)), x)
        t = self.video.config["temporal"]
        x = x[:, :, : 1 + (x.shape[2] - 1) // t * t]  # like ComfyUI's VAEs, drop frames that do not fill a latent frame
        bar = self.bar(len(x))
        return torch.cat([self.video.encode(clip.movedim(0, -1), bar.part(i)) for i, clip in enumerate(x)])

    @contextlib.contextmanager
    def tiles(self):
        """While ComfyUI tiles, the progress bar is ComfyUI's, and single tiles cause no warnings."""
        self.bar = lambda clips: Bar(clips, shown=False)
        self.video.quiet = self.pictures.quiet = True
        try:
            yield
        finally:
            self.bar = Bar
            self.video.quiet = self.pictures.quiet = False

    def loaded(self):
        """Return the bytes of its weights."""
        local = isinstance(self.server, Local)
        return self.size if local and self.server.engine.running(self.server.file) else 0

    def unload(self):
        if isinstance(self.server, Local):
            self.server.engine.close()


def split(made, asked):
    """Convert pictures [1,C,N,...] to a batch, with or without a frame dimension as requested."""
    made = made.squeeze(0)
    return made.movedim(1, 0) if asked.ndim == 4 else made.reshape(len(made), len(asked), -1, *made.shape[2:]).movedim(1, 0)


class Patcher(comfy.model_patcher.ModelPatcher):
    """The engine's memory, which ComfyUI counts and frees."""

    def loaded_size(self):
        return self.model.loaded()

    def detach(self, unpatch_all=True):
        if unpatch_all:  # otherwise it is loaded again at once
            self.model.unload()
        return super().detach(unpatch_all)

    def partially_unload(self, device_to, memory_to_free=0, **_):
        freed = self.model.loaded()
        self.model.unload()
        return freed


def weights(file):
    """Return the tensors of a VAE's file, or of the VAE in a checkpoint."""
    tensors = comfy.utils.load_torch_file(file)
    if prefix := next(filter(None, map(prefix_of, tensors)), ""):
        return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
    return tensors


def prefix_of(name):
    """Return the prefix of a tensor of the VAE in a checkpoint, "" for other tensors."""
    return next((p for p in ("first_stage_model.", "vae.") if name.startswith(p)), "")


@functools.cache
def held(file, _changed):
    """Return the bytes of the VAE's tensors in a whole model's checkpoint, 0 if it has none."""
    with open(file, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(size)) if 1 < size <= 100 << 20 else {}
    spans = [t["data_offsets"] for name, t in header.items() if prefix_of(name)]
    return sum(end - begin for begin, end in spans)


def vae_bytes(file):
    """Return the bytes of a VAE's weights in a file."""
    try:
        whole = os.path.getsize(file)
        return held(file, os.path.getmtime(file)) or whole if file.endswith(".safetensors") else whole
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0  # the engine reports what is wrong


def holds_vae(file):
    """Return whether a whole model's checkpoint has a VAE; only .safetensors shows it quickly."""
    try:
        return file.endswith(".safetensors") and held(file, os.path.getmtime(file)) > 0
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
