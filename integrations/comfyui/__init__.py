"""VAE decode and encode for ComfyUI on a `tessera serve`, here or elsewhere."""

from .nodes import Tessera


async def comfy_entrypoint():
    return Tessera()
