"""VAEs for ComfyUI on the Tessera engine, on this machine or another."""

from .nodes import Tessera


async def comfy_entrypoint():
    return Tessera()
