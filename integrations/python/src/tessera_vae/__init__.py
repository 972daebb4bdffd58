"""Video VAEs by Tessera: a server's, or a program's on this machine.

Start at Server and Program; tessera_vae.diffusers has a stand-in for a pipeline's VAE.
"""

from ._client import Config, Server, TesseraError
from ._program import Program

__all__ = ["Config", "Program", "Server", "TesseraError"]
