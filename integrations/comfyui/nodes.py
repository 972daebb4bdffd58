"""ComfyUI's nodes: the server and its settings, decode, and encode.

IMAGE is [B,H,W,C] from 0 to 1; a video is a batch of its frames. LATENT is
{"samples": [B,C,T,h,w]}, or [B,C,h,w] for models of pictures, with the scale that
ComfyUI's own nodes use: unscaled for most models, whose samplers scale them, and scaled
for SeedVR2, FLUX.2, LTX-2 and Cosmos 1.0. The server reports which.
"""

import io as bytesio
import itertools
import logging

import numpy
import torch
from PIL import Image

import comfy.model_management
import comfy.utils
from comfy_api.latest import ComfyExtension, io

from .client import HOME, Server, TesseraError, fill, split

TesseraServer = io.Custom("TESSERA_SERVER")

SCALES = {"normalized": "pipeline", "raw": "none"}
STEPS = 1000  # of a clip, in progress bars
PREVIEW = 512  # pixels of a preview's longer side, as ComfyUI's are by default


class ServerSettings(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(
            node_id="TesseraServer",
            display_name="Tessera Server",
            category="Tessera",
            description="Selects the tessera server and its settings. Without this node, the nodes use this machine's server.",
            inputs=[
                io.String.Input(
                    "address",
                    default="",
                    placeholder=HOME,
                    tooltip=f"Empty: TESSERA_SERVER of ComfyUI's environment, else {HOME}. "
                    "A token is never written here, but into TESSERA_TOKEN, and sent to TESSERA_SERVER alone.",
                ),
                io.String.Input(
                    "model",
                    default="",
                    placeholder="the only one",
                    tooltip="Name of one of the server's models, as in tessera serve -m wan=Wan2.1_VAE.pth. Empty: its only one.",
                ),
                io.String.Input(
                    "tile",
                    default="",
                    placeholder="as memory allows",
                    tooltip="Side of a tile in pixels, such as 512 or 512x768. Empty: as large as the server's memory allows.",
                ),
                io.String.Input("overlap", default="", placeholder="the model's", tooltip="Overlap of neighbouring tiles, in pixels."),
                io.Combo.Input(
                    "tiling",
                    options=["auto", "feather", "exact", "diffusers"],
                    default="auto",
                    tooltip="How tiles are combined; exact gives the result of one tile, if the model supports it.",
                ),
                io.Combo.Input(
                    "as_",
                    options=["auto", "cogvideox-5b", "cogvideox-2b", "sd", "sdxl", "playground", "flux", "sd3", "sd-x4",
                             "taew2_1", "taehv", "taecvx", "taeos1_3", "lighttaew2_1", "taew2_2",
                             "lighttaew2_2", "taehv1_5", "lighttaehy1_5", "taeh3", "taeltx_2", "taeltx2_3"],
                    default="auto",
                    optional=True,  # of workflows that were saved without it
                    tooltip="Which model a CogVideoX, AutoencoderKL or TAEHV checkpoint is. It sets the scale of normalized latents only.",
                ),
            ],
            outputs=[TesseraServer.Output("server", display_name="server")],
        )

    @classmethod
    def validate_inputs(cls, address=""):
        try:
            split(address or "")
        except TesseraError as err:
            return str(err)
        return True

    @classmethod
    def execute(cls, address, model, tile, overlap, tiling, as_="auto"):
        tiling, as_ = ("" if choice == "auto" else choice for choice in (tiling, as_))
        return io.NodeOutput(Server(address, model, tile=tile.strip(), overlap=overlap.strip(), tiling=tiling, as_=as_))


def shared_inputs(batch):
    """Inputs that decode and encode both have."""
    return [
        TesseraServer.Input("server", optional=True, tooltip="From the node Tessera Server; without it, this machine's server."),
        io.Combo.Input("frames", options=["auto", "video", "pictures"], default="auto", tooltip=batch),
        io.Combo.Input(
            "latents",
            options=["comfyui", "normalized", "raw"],
            default="comfyui",
            tooltip="comfyui: as ComfyUI's own nodes have them. normalized: as a diffusers pipeline and some "
            "wrapper nodes do. raw: the VAE's own numbers.",
        ),
    ]


class Decode(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(
            node_id="TesseraVAEDecode",
            display_name="VAE Decode (Tessera)",
            category="Tessera",
            description="Decodes latents of SeedVR2, Wan, Qwen-Image, HunyuanVideo, HunyuanImage, LTX-2, Mochi, CogVideoX, Cosmos, Stable Diffusion, FLUX.2, TAESD and TAEHV on a tessera server.",
            inputs=[
                io.Latent.Input("samples", tooltip="The latent to decode."),
                *shared_inputs("auto: latents of models of pictures, such as Qwen-Image and Stable Diffusion, are pictures, the others' are video."),
                io.String.Input(
                    "preview",
                    default="",
                    optional=True,
                    placeholder="none",
                    tooltip="Name of a tiny autoencoder among the server's models, such as taew2_1 for Wan 2.1. "
                    "What it makes of the latent is shown on the node, frame after frame, while the decode runs.",
                ),
            ],
            outputs=[io.Image.Output("image", display_name="IMAGE")],
        )

    @classmethod
    def execute(cls, samples, frames="auto", latents="comfyui", server=None, preview=""):
        ask = Request(server, frames, latents)
        z = ask.clips(samples["samples"])
        bar = Bar(len(z))
        clips = [ask.decode(clip, bar.part(i), preview.strip(), bar.show) for i, clip in enumerate(z)]
        image = clips[0] if len(clips) == 1 else torch.cat(clips)
        return io.NodeOutput(cropped(image, samples, ask, z))


class Encode(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(
            node_id="TesseraVAEEncode",
            display_name="VAE Encode (Tessera)",
            category="Tessera",
            description="Encodes pictures and video on a tessera server, for SeedVR2, Wan, Qwen-Image, HunyuanVideo, HunyuanImage, LTX-2, Mochi, CogVideoX, Cosmos, Stable Diffusion, FLUX.2, TAESD and TAEHV.",
            inputs=[
                io.Image.Input("pixels", tooltip="A batch: the frames of a video, or pictures."),
                *shared_inputs("auto: a batch is pictures for models of pictures, such as Qwen-Image and Stable Diffusion, and a video for the others."),
            ],
            outputs=[io.Latent.Output("latent", display_name="LATENT")],
        )

    @classmethod
    def execute(cls, pixels, frames="auto", latents="comfyui", server=None):
        ask = Request(server, frames, latents)
        z = ask.encode(pixels, Bar(1).part(0))
        if ask.flat or ask.pictures:
            z = z.movedim(2, 0).squeeze(1)
        if ask.pictures and not ask.flat:
            z = z.unsqueeze(2)
        z = z.contiguous()
        return io.NodeOutput({"samples": z, SIZE: list(pixels.shape[:3])})


SIZE = "tessera_size"  # of a LATENT: frames, height and width before they were padded


def cropped(image, samples, ask, z):
    """What is left of an image without the padding that an encode of ours gave it,
    where the latent has still the size that came of it."""
    size = samples.get(SIZE)
    if not size:
        return image
    t, h, w = size
    if ask.padded(t, h, w) == (sum(len(clip[0]) for clip in z), *z[0].shape[2:]):
        return image[:t, :h, :w]
    return image


class Bar:
    """ComfyUI's progress bar over so many clips, which also ends what was cancelled."""

    def __init__(self, clips):
        self.bar = comfy.utils.ProgressBar(clips * STEPS)
        self.frames = iter(())  # of the preview, over and over

    def part(self, i):
        def wait(done):
            comfy.model_management.throw_exception_if_processing_interrupted()
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
        """Frames [T,H,W,C] in 0 to 1 of a latent [C,T,h,w]."""
        query = {**self.query, "kind": "decode", "output": "f32", "shape": shape(z)}
        with self.server.job(query, z.numpy(), wait, preview, show) as (state, reply):
            warn(state)
            size = self.server.floats(state)
            made = self.server.memory(state["bytes"])
            fill(reply, made, wait)
            image = torch.frombuffer(made, dtype=torch.float32).reshape(size)
        return image.add_(1.0).div_(2.0).clamp_(0.0, 1.0)

    def encode(self, pixels, wait):
        """The latent [1,C,T,h,w] of frames [T,H,W,C] in 0 to 1."""
        c = self.config["channels"]
        x = torch.ones((c, *pixels.shape[:3]), dtype=torch.float32)
        c = min(c, pixels.shape[-1])
        x[:c].copy_(pixels[..., :c].movedim(-1, 0))
        x.mul_(2.0).sub_(1.0)
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


def warn(state):
    """What a server has to say of a job goes where ComfyUI's messages go."""
    for text in state.get("warnings") or []:
        logging.warning("tessera: %s", text)


class Tessera(ComfyExtension):
    async def get_node_list(self):
        return [ServerSettings, Decode, Encode]
