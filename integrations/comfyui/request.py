"""Requests of the nodes to a server: clips as torch tensors, and ComfyUI's progress bar.

The scale of latents is the one that ComfyUI's own nodes use: unscaled for most models,
whose samplers scale them, and scaled for SeedVR2, FLUX.2, LTX-2 and Cosmos 1.0. The
server reports which.
"""

import io as bytesio
import itertools
import logging

import numpy
import torch
from PIL import Image

import comfy.model_management
import comfy.utils

from .client import Server, TesseraError, fill

SCALES = {"normalized": "pipeline", "raw": "none"}
STEPS = 1000  # of a progress bar, per clip
PREVIEW = 512  # pixels of a preview's longer side, ComfyUI's default


class Bar:
    """ComfyUI's progress bar over a number of clips; it also ends a cancelled job."""

    def __init__(self, clips, shown=True):
        self.bar = comfy.utils.ProgressBar(clips * STEPS) if shown else None
        self.frames = iter(())  # of the preview, repeated

    def part(self, i):
        def wait(done):
            comfy.model_management.throw_exception_if_processing_interrupted()
            if self.bar:
                self.bar.update_absolute(int((i + min(max(done, 0.0), 1.0)) * STEPS), preview=next(self.frames, None))

        return wait

    def show(self, shape, pixels):
        """Play a preview: each step of the bar shows the next frame, as samplers do."""
        clip = numpy.frombuffer(pixels, numpy.uint8).reshape(shape)[..., :3]
        self.frames = (("JPEG", Image.fromarray(frame), PREVIEW) for frame in itertools.cycle(clip))


class Request:
    """The requests of one node."""

    def __init__(self, server, frames, latents):
        self.server = server or Server()
        self.quiet = False  # drop warnings
        model = self.server.config()
        self.name, self.config = model["name"], model["config"]
        self.pictures = self.config["independent"] if frames == "auto" else frames == "pictures"
        own = "none" if self.config["comfyui_unscaled"] else "pipeline"
        self.query = {"dtype": "float32", "scale": SCALES.get(latents, own), "independent_frames": self.pictures}
        self.flat = self.config["temporal"] == 1  # for these models samplers use latents [B,C,h,w]
        packed = self.config.get("packed") and self.query["scale"] == "pipeline"  # 2x2 cells are packed into one
        self.channels = self.config["latent"] * (4 if packed else 1)
        self.cell = self.config["spatial"] * (2 if packed else 1)  # pixels along its side

    def padded(self, t, h, w):
        """Return the size of the latent for a clip's frames, height and width."""
        c = self.config
        batch = c.get("batch", 0) * c["temporal"]  # frames encoded at once
        if batch and not self.pictures and t % batch != 1:
            t = -(-t // batch) * c["batch"]
        elif not self.pictures:
            t = 1 + -(-(t - 1) // c["temporal"])
        return t, -(-h // self.cell), -(-w // self.cell)

    def clips(self, z):
        """Return the clips of a LATENT's samples, each [C,T,h,w]; pictures are one clip."""
        c = self.channels
        folded = self.config["comfyui_folded"]  # samplers leave frames among the channels
        if z.ndim == 4 and (z.shape[1] == c or folded and z.shape[1] % c == 0):
            z = z.reshape(z.shape[0], c, -1, *z.shape[2:])
        if z.ndim != 5 or z.shape[1] != c:
            raise TesseraError(
                f"the latent is {list(z.shape)}, expected [B,{c},T,h,w] or [B,{c},h,w] "
                f"for {self.name} ({self.config['model']})"
            )
        z = z.detach().to("cpu", torch.float32)
        if self.pictures:
            z = z.transpose(0, 1).reshape(1, c, -1, *z.shape[3:])
        return [clip.contiguous() for clip in z]

    def decode(self, z, wait, preview="", show=None):
        """Decode a latent [C,T,h,w] to frames [T,H,W,C], from -1 to 1 and slightly beyond."""
        query = {**self.query, "kind": "decode", "output": "f32", "shape": shape(z)}
        with self.server.job(query, z.numpy(), wait, preview, show) as (state, reply):
            self.warn(state)
            size = self.server.floats(state)
            made = self.server.memory(state["bytes"])
            fill(reply, made, wait)
            return torch.frombuffer(made, dtype=torch.float32).reshape(size)

    def warn(self, state):
        """Log a job's notes and warnings with ComfyUI's messages."""
        for text in state.get("warnings") or [] if not self.quiet else []:
            logging.warning("tessera: %s", text)

    def encode(self, frames, wait):
        """Encode frames [T,H,W,C], -1 to 1, to a latent [1,C,T,h,w]; without alpha they are opaque."""
        c = self.config["channels"]
        x = torch.ones((c, *frames.shape[:3]), dtype=torch.float32)
        c = min(c, frames.shape[-1])
        x[:c].copy_(frames[..., :c].movedim(-1, 0))
        query = {**self.query, "kind": "encode", "output": "npy", "shape": shape(x)}
        with self.server.job(query, x.numpy(), wait) as (state, reply):
            made = self.server.memory(state["bytes"])
            fill(reply, made, wait)
        try:
            z = torch.from_numpy(numpy.load(bytesio.BytesIO(made), allow_pickle=False))
            return z.reshape(1, *z.shape[-4:])
        except (ValueError, TypeError, EOFError, OSError, RuntimeError, MemoryError) as err:
            raise self.server.strange("with a latent that is not .npy") from err


def shape(clip):
    """Return a clip's shape for the server, [1,C,T,h,w]."""
    return ",".join(map(str, (1, *clip.shape)))
