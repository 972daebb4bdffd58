"""Nodes for tools/clients/comfyui.py: exact numbers into ComfyUI and out of it."""

import os
from types import SimpleNamespace

import numpy
import torch

import folder_paths
from comfy_api.latest import ComfyExtension, io


class Load(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(node_id="LoadNumbers", inputs=[io.String.Input("name")], outputs=[io.Image.Output(), io.Latent.Output()])

    @classmethod
    def execute(cls, name):
        numbers = torch.from_numpy(numpy.load(os.path.join(folder_paths.get_input_directory(), name)))
        return io.NodeOutput(numbers, {"samples": numbers})


class Keep(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        inputs = [io.String.Input("name"), io.Image.Input("image", optional=True), io.Latent.Input("latent", optional=True)]
        return io.Schema(node_id="KeepNumbers", inputs=inputs, is_output_node=True)

    @classmethod
    def execute(cls, name, image=None, latent=None):
        numbers = image if latent is None else latent["samples"]
        numpy.save(os.path.join(folder_paths.get_output_directory(), name), numbers.numpy())
        return io.NodeOutput()


class KeepAll(io.ComfyNode):
    """Keeps every tensor that a node's outputs hold, by where it is in them."""

    @classmethod
    def define_schema(cls):
        inputs = [io.AnyType.Input(name, optional=True) for name in "abcdefgh"]
        return io.Schema(node_id="KeepAll", inputs=[io.String.Input("name"), *inputs], is_output_node=True)

    @classmethod
    def execute(cls, name, **outputs):
        numpy.savez(os.path.join(folder_paths.get_output_directory(), name), **dict(tensors("", outputs)))
        return io.NodeOutput()


def tensors(at, value):
    if isinstance(value, torch.Tensor):
        yield at, value.float().numpy()
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from tensors(f"{at}.{key}", inner)
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            yield from tensors(f"{at}[{i}]", inner)
    elif isinstance(value, Control):
        yield at + ".hint", value.vae.encode(value.hint.movedim(1, -1)).numpy()  # like a control net when it samples


class Control:
    """The part of a control net that nodes use to give it a picture."""

    concat_mask = True

    def copy(self):
        return Control()

    def set_cond_hint(self, hint, strength=1.0, timestep_percent_range=(0.0, 1.0), vae=None, extra_concat=[]):
        self.hint, self.vae = hint, vae
        return self

    def set_previous_controlnet(self, _):
        pass


class Clip:
    """The part of a text encoder that nodes use to show it pictures."""

    def tokenize(self, text, **_):
        return text

    def encode_from_tokens_scheduled(self, _):
        return [[torch.zeros(1, 8, 3584), {}]]


class MakeControl(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(node_id="MakeControl", outputs=[io.ControlNet.Output()])

    @classmethod
    def execute(cls):
        return io.NodeOutput(Control())


class MakeClip(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(node_id="MakeClip", outputs=[io.Clip.Output()])

    @classmethod
    def execute(cls):
        return io.NodeOutput(Clip())


class Vision:
    """The part of a vision model that nodes use."""

    def encode_image(self, _):
        return SimpleNamespace(image_embeds=torch.zeros(1, 768))


class MakeVision(io.ComfyNode):
    @classmethod
    def define_schema(cls):
        return io.Schema(node_id="MakeVision", outputs=[io.ClipVision.Output()])

    @classmethod
    def execute(cls):
        return io.NodeOutput(Vision())


class MakeMask(io.ComfyNode):
    """The left half of frames."""

    @classmethod
    def define_schema(cls):
        return io.Schema(node_id="MakeMask", inputs=[io.Image.Input("like")], outputs=[io.Mask.Output()])

    @classmethod
    def execute(cls, like):
        mask = torch.zeros(like.shape[:3])
        mask[..., : mask.shape[-1] // 2] = 1
        return io.NodeOutput(mask)


class Words(io.ComfyNode):
    """Numbers of the size of Wan's text encoding of a few words."""

    @classmethod
    def define_schema(cls):
        return io.Schema(node_id="MakeWords", inputs=[io.Int.Input("seed")], outputs=[io.Conditioning.Output()])

    @classmethod
    def execute(cls, seed):
        words = torch.randn(1, 8, 4096, generator=torch.Generator().manual_seed(seed))
        return io.NodeOutput([[words, {}]])


class Numbers(ComfyExtension):
    async def get_node_list(self):
        return [Load, Keep, KeepAll, Words, MakeControl, MakeClip, MakeVision, MakeMask]


async def comfy_entrypoint():
    return Numbers()
