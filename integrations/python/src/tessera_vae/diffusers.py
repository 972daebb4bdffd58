"""A replacement for the VAE of a diffusers pipeline. Needs diffusers and torch."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from diffusers.models.autoencoders.vae import DecoderOutput, DiagonalGaussianDistribution
from diffusers.models.modeling_outputs import AutoencoderKLOutput

from ._client import Config, Server


class VAEConfig(dict[str, Any]):
    """A VAE's config as pipelines read it, by keys and attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the VAE's config has no {name!r}") from None

    @classmethod
    def of(cls, c: Config) -> VAEConfig:
        config = cls(
            in_channels=c.channels, out_channels=c.channels, latent_channels=c.latent_channels, z_dim=c.latent_channels,
            block_out_channels=list(c.widths), scale_factor_spatial=c.spatial, scale_factor_temporal=c.temporal,
            temporal_compression_ratio=c.temporal, spatial_compression_ratio=c.spatial, temperal_downsample=list(c.time_down),
            latents_mean=list(c.mean), latents_std=[c.sigma / s for s in c.scale], force_upcast=False,
            timestep_conditioning=False,
        )  # fmt: skip
        if c.one_scale:
            config.update(scaling_factor=c.scale[0], shift_factor=c.mean[0])
            if c.scale[0] != 1 or c.mean[0] != 0:  # with these, a pipeline applies them and the factor
                config.update(latents_mean=None, latents_std=None)
        else:
            config.update(scaling_factor=1.0)
        return config


class AutoencoderKL:
    """Replaces a pipeline's VAE:

        pipe.vae = AutoencoderKL("http://127.0.0.1:7878")

    vae is a Server, a Program or a server's address. Latents are unscaled, as for
    diffusers' VAEs; pipelines scale them by config. Pixels are [B,C,T,H,W] or
    [B,C,H,W] in [-1,1]. Pipelines convert latents to dtype before they decode. The VAE
    has no device; results are on the input's device."""

    def __init__(self, vae: Server | str = "", *, dtype: torch.dtype = torch.float32) -> None:
        self.vae = Server(vae) if isinstance(vae, str) else vae
        self.config = VAEConfig.of(self.vae.config)
        self.dtype = dtype
        self.device = torch.device("cpu")
        self.temperal_downsample: list[bool] = self.config.temperal_downsample
        self.z_dim: int = self.config.z_dim
        self.spatial_compression_ratio: int = self.config.spatial_compression_ratio
        self.temporal_compression_ratio: int = self.config.temporal_compression_ratio
        c = self.vae.config
        self.latents_mean, self.latents_std = torch.tensor(c.mean), torch.tensor([c.sigma / s for s in c.scale])  # for LTX-2's pipelines
        if c.packed:  # for FLUX.2's
            self.bn = SimpleNamespace(running_mean=self.latents_mean, running_var=self.latents_std**2)
            self.config["batch_norm_eps"] = 0.0
        self.use_tiling = self.use_slicing = False

    @torch.no_grad()
    def encode(self, x: torch.Tensor, return_dict: bool = True) -> AutoencoderKLOutput | tuple[DiagonalGaussianDistribution]:
        """Encode a clip to the distribution of its latent."""
        posterior = DiagonalGaussianDistribution(self._encode(x))
        return AutoencoderKLOutput(latent_dist=posterior) if return_dict else (posterior,)

    @torch.no_grad()
    def _encode(self, x: torch.Tensor) -> torch.Tensor:
        """Encode to means and log-variances; some pipelines call this name."""
        return self.vae.encode(x, scale="none", moments=True)

    @torch.no_grad()
    def decode(
        self, z: torch.Tensor, temb: object = None, return_dict: bool = True, generator: object = None
    ) -> DecoderOutput | tuple[torch.Tensor]:
        """Decode a latent to pixels. LTX-2's pipelines pass temb, which is ignored."""
        sample = self.vae.decode(z, scale="none")
        return DecoderOutput(sample=sample) if return_dict else (sample,)

    def to(self, *args: object, dtype: torch.dtype | None = None, **kwargs: object) -> AutoencoderKL:
        """Change the dtype; a device is ignored."""
        self.dtype = next((a for a in (dtype, *args) if isinstance(a, torch.dtype)), self.dtype)
        return self

    def float(self) -> AutoencoderKL:
        return self.to(torch.float32)

    def half(self) -> AutoencoderKL:
        return self.to(torch.float16)

    def bfloat16(self) -> AutoencoderKL:
        return self.to(torch.bfloat16)

    def cpu(self) -> AutoencoderKL:
        return self

    def cuda(self, device: object = None) -> AutoencoderKL:
        return self

    def modules(self) -> Iterator[torch.nn.Module]:
        """Return no modules, so offloading moves nothing."""
        return iter(())

    def parameters(self, recurse: bool = True) -> Iterator[torch.nn.Parameter]:
        """Return one empty parameter, whose dtype some pipelines read."""
        return iter((torch.nn.Parameter(torch.empty(0, dtype=self.dtype), requires_grad=False),))

    def eval(self) -> AutoencoderKL:
        return self

    def train(self, mode: bool = True) -> AutoencoderKL:
        return self

    def requires_grad_(self, requires_grad: bool = True) -> AutoencoderKL:
        return self

    def enable_tiling(self, *args: object, **kwargs: object) -> None:
        """Do nothing: Tessera tiles as memory requires, or as set in Server."""

    disable_tiling = enable_slicing = disable_slicing = enable_tiling
