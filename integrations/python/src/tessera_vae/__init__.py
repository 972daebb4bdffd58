"""Video VAEs by Tessera, through a server or a program on this machine.

    vae = tessera_vae.Program("Wan2.1_VAE.pth")
    pixels = vae.decode(latents)

Start with Server or Program; tessera_vae.diffusers replaces a pipeline's VAE.
"""

from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from ._client import Config, Server, TesseraError
    from ._program import Program

__all__ = ["Config", "Program", "Server", "TesseraError", "__version__"]


def __getattr__(name: str) -> object:  # the command must not wait for numpy
    if name == "Program":
        from . import _program

        return _program.Program
    if name in __all__:
        from . import _client

        return getattr(_client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
