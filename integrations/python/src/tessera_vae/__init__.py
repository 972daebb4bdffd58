"""Video VAEs by Tessera, through a server or a program on this machine.

Start with Server or Program; tessera_vae.diffusers replaces a pipeline's VAE.
"""

from ._client import Config, Server, TesseraError
from ._program import Program

__all__ = ["Config", "Program", "Server", "TesseraError"]
