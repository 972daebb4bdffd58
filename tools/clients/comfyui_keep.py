"""Nodes for tools/clients/comfyui.py alone: exact numbers into ComfyUI and out of it."""

import os

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


class Words(io.ComfyNode):
    """What a text encoder of Wan's would make of a few words, in its size."""

    @classmethod
    def define_schema(cls):
        return io.Schema(node_id="MakeWords", inputs=[io.Int.Input("seed")], outputs=[io.Conditioning.Output()])

    @classmethod
    def execute(cls, seed):
        words = torch.randn(1, 8, 4096, generator=torch.Generator().manual_seed(seed))
        return io.NodeOutput([[words, {}]])


class Numbers(ComfyExtension):
    async def get_node_list(self):
        return [Load, Keep, Words]


async def comfy_entrypoint():
    return Numbers()
