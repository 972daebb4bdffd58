"""What the nodes ask of a server: clips of torch's tensors, and ComfyUI's progress bar.

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
STEPS = 1000  # of a clip, in progress bars
PREVIEW = 512  # pixels of a preview's longer side, as ComfyUI's are by default


class Bar:
    """ComfyUI's progress bar over so many clips, which also ends what was cancelled."""

    def __init__(self, clips, shown=True):
        self.bar = comfy.utils.ProgressBar(clips * STEPS) if shown else None
        self.frames = iter(())  # of the preview, over and over

    def part(self, i):
        def wait(done):
            comfy.model_management.throw_exception_if_processing_interrupted()
            if self.bar:
                self.bar.update_absolute(int((i + min(max(done, 0.0), 1.0)) * STEPS), preview=next(self.frames, None))

        return wait

    def show(self, shape, pixels):
        """Plays a preview: each step of the bar shows its next frame, as samplers show theirs."""
        clip = numpy.frombuffer(pixels, numpy.uint8).reshape(shape)[..., :3]
        self.frames = (("JPEG", Image.fromarray(frame), PREVIEW) for frame in itertools.cycle(clip))


class Request:
    """What is asked of a server for one node."""

    def __init__(self, server, frames, latents):
        self.server = server or Server()
        self.quiet = False  # whether warnings are left out
        model = self.server.config()
        self.name, self.config = model["name"], model["config"]
        self.pictures = self.config["independent"] if frames == "auto" else frames == "pictures"
        own = "none" if self.config["comfyui_unscaled"] else "pipeline"
        self.query = {"dtype": "float32", "scale": SCALES.get(latents, own), "independent_frames": self.pictures}
        self.flat = self.config["temporal"] == 1  # samplers of models without time have latents [B,C,h,w]
        packed = self.config.get("packed") and self.query["scale"] == "pipeline"  # squares of 2x2 cells are one
        self.channels = self.config["latent"] * (4 if packed else 1)
        self.cell = self.config["spatial"] * (2 if packed else 1)  # pixels along its side

    def padded(self, t, h, w):
        """The size of the latent of so many frames of so many pixels."""
        c = self.config
        batch = c.get("batch", 0) * c["temporal"]  # frames that are encoded at once
        if batch and not self.pictures and t % batch != 1:
            t = -(-t // batch) * c["batch"]
        elif not self.pictures:
            t = 1 + -(-(t - 1) // c["temporal"])
        return t, -(-h // self.cell), -(-w // self.cell)

    def clips(self, z):
        """The clips of a LATENT's samples, [C,T,h,w] each; pictures are one clip."""
        c = self.channels
        folded = self.config["comfyui_folded"]  # whose samplers leave frames among the channels
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
        """Frames [T,H,W,C], -1 to 1 and a little beyond, of a latent [C,T,h,w]."""
        query = {**self.query, "kind": "decode", "output": "f32", "shape": shape(z)}
        with self.server.job(query, z.numpy(), wait, preview, show) as (state, reply):
            self.warn(state)
            size = self.server.floats(state)
            made = self.server.memory(state["bytes"])
            fill(reply, made, wait)
            return torch.frombuffer(made, dtype=torch.float32).reshape(size)

    def warn(self, state):
        """What a server has to say of a job goes where ComfyUI's messages go."""
        for text in state.get("warnings") or [] if not self.quiet else []:
            logging.warning("tessera: %s", text)

    def encode(self, frames, wait):
        """The latent [1,C,T,h,w] of frames [T,H,W,C], -1 to 1; opaque where they have no alpha."""
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
            raise self.server.strange("with a latent that is no .npy") from err


def shape(clip):
    """A clip's shape as the server reads it, [1,C,T,h,w]."""
    return ",".join(map(str, (1, *clip.shape)))
