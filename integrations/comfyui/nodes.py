"""ComfyUI's nodes: a VAE, the server and its settings, decode, and encode.

IMAGE is [B,H,W,C] from 0 to 1; a video is a batch of its frames. LATENT is
{"samples": [B,C,T,h,w]}, or [B,C,h,w] for models of pictures.
"""

import torch

import folder_paths
from comfy.cli_args import args
from comfy_api.latest import ComfyExtension, io

from .client import HOME, Server, TesseraError, split
from .engine import Engine, Local
from .request import Bar, Request
from .vae import VAE, holds_vae

TesseraServer = io.Custom("TESSERA_SERVER")
CHECKPOINTS = "checkpoints"  # ComfyUI's folder, and the prefix of its files in the list
engine = Engine(*(["--precision", "f32"] if args.fp32_vae else []))


def files():
    """List ComfyUI's VAEs, and its checkpoints that contain one."""
    found = folder_paths.get_filename_list("vae")
    whole = folder_paths.get_filename_list(CHECKPOINTS)
    return [*found, *(f"{CHECKPOINTS}/{name}" for name in whole if holds_vae(folder_paths.get_full_path(CHECKPOINTS, name) or ""))]


def path(name):
    """Return the file of a name in the list."""
    kind, _, rest = name.partition("/")
    if kind == CHECKPOINTS and (found := folder_paths.get_full_path(CHECKPOINTS, rest)):
        return found
    return folder_paths.get_full_path_or_raise("vae", name)


class LoadVAE(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(
            node_id="TesseraLoadVAE",
            display_name="Load VAE (Tessera)",
            category="Tessera",
            description="Loads a VAE into the Tessera engine, for every node that takes a VAE. The engine starts automatically on this machine.",
            inputs=[
                io.Combo.Input(
                    "vae_name",
                    options=files(),
                    tooltip="A file of ComfyUI's folder models/vae, or a checkpoint that holds a VAE. Unused with a server.",
                ),
                TesseraServer.Input("server", optional=True, tooltip="From the node Tessera Server: a model of a server elsewhere."),
            ],
            outputs=[
                io.Vae.Output("vae", display_name="VAE"),
                TesseraServer.Output("engine", display_name="server", tooltip="For VAE Decode (Tessera) and VAE Encode (Tessera)."),
            ],
        )

    @classmethod
    def execute(cls, vae_name, server=None):
        server = server or Local(engine, path(vae_name))
        return io.NodeOutput(VAE(server, halves=not args.fp32_vae), server)


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
                    optional=True,  # for workflows saved without it
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
    """Return the inputs that decode and encode share."""
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
        image.add_(1.0).div_(2.0).clamp_(0.0, 1.0)
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
        z = ask.encode(pixels * 2.0 - 1.0, Bar(1).part(0))
        if ask.flat or ask.pictures:
            z = z.movedim(2, 0).squeeze(1)
        if ask.pictures and not ask.flat:
            z = z.unsqueeze(2)
        z = z.contiguous()
        return io.NodeOutput({"samples": z, SIZE: list(pixels.shape[:3])})


SIZE = "tessera_size"  # key in a LATENT: frames, height and width before padding


def cropped(image, samples, ask, z):
    """Remove the padding that this package's encode added to an image, if the latent
    still has the size that encode returned."""
    size = samples.get(SIZE)
    if not size:
        return image
    t, h, w = size
    if ask.padded(t, h, w) == (sum(len(clip[0]) for clip in z), *z[0].shape[2:]):
        return image[:t, :h, :w]
    return image


class Tessera(ComfyExtension):
    async def get_node_list(self):
        return [LoadVAE, ServerSettings, Decode, Encode]
