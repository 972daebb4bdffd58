"""VAEs for ComfyUI on the Tessera engine, of this machine or elsewhere."""

from .nodes import Tessera


async def comfy_entrypoint():
    return Tessera()
