"""A client of `tessera serve` over HTTP."""

from __future__ import annotations

import email.utils
import http.client
import json
import math
import os
import re
import ssl
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote, urlencode, urlsplit

import numpy as np
import numpy.typing as npt

from ._tensors import Array, array, like, raw

HOME = "http://127.0.0.1:7878"
Scale = Literal["pipeline", "none"]
"""The scale of a latent's numbers: a pipeline's, or the VAE's own."""

_FLOATS = ("float32", "float16", "bfloat16")
_PIXELS = (*_FLOATS, "uint8")
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "uint8": 1}


class TesseraError(RuntimeError):
    """An error in one sentence. status is the server's HTTP status, 0 without a response;
    code is the server's name of the error, such as "busy"."""

    def __init__(self, text: str, status: int = 0, code: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.code = code


@dataclass(frozen=True)
class Config:
    """A model of a server."""

    name: str
    # "seedvr2", "wan2.1", "wan2.2", "qwen2.1", "hunyuanvideo", "hunyuanvideo1.5",
    # "hunyuanimage2.1", "ltx2", "mochi1", "cogvideox", "cosmos1", "kl", "flux2", "taehv", "taesd"
    family: str
    model: str  # the model's name: "Qwen-Image"
    latent_channels: int
    channels: int  # of a pixel: 3, or 4 with alpha
    spatial: int  # pixels along a latent cell's side
    temporal: int  # frames per latent frame after the first
    widths: tuple[int, ...]  # channels of the encoder's stages
    time_down: tuple[bool, ...]  # whether the stages' downsamplers also halve time
    mean: tuple[float, ...]  # a pipeline's latent is (latent - mean) * scale, by channel
    scale: tuple[float, ...]  # for Cosmos 16 per channel, for its first latent frames, like mean
    sigma: float = 1.0  # sigma_data of a pipeline's scheduler, a factor in scale
    packed: bool = False  # a pipeline's latent packs 2x2 cells into one, to which mean and scale apply

    @property
    def one_scale(self) -> bool:
        """Whether mean and scale are the same for all channels."""
        return len(set(self.scale)) == 1 and len(set(self.mean)) == 1

    @classmethod
    def of(cls, told: dict[str, Any]) -> Config:
        c = told["config"]
        n = int(c["latent"])
        if not 0 < n < 1 << 16:
            raise ValueError(f"{n} latent channels")
        return cls(
            str(told["name"]), str(c["family"]), str(c["model"]), n, int(c["channels"]), int(c["spatial"]), int(c["temporal"]),
            tuple(map(int, c["widths"])), tuple(map(bool, c["time_down"])),
            tuple(map(float, c["mean"] or [0.0] * n)), tuple(map(float, c["scale"] or [1.0] * n)),
            float(c.get("sigma") or 1.0), bool(c.get("packed")),
        )  # fmt: skip


class Server:
    """A server, with the settings for every clip.

    address   such as http://127.0.0.1:7878 or https://anyone:TOKEN@gpu.lan:7878;
              default: TESSERA_SERVER, else this machine
    model     name of a model, if the server has several
    token     for servers that need one; default: TESSERA_TOKEN, which is sent only to
              the default address
    tile, overlap, tiling, independent_frames   as the command line's flags
    as_       its --as: which model an AutoencoderKL checkpoint is, such as "sdxl"
    timeout   seconds to wait for data, None for no limit: a frame may take long
    patience  seconds to retry while the server is busy

    Results have the type of the input: numpy arrays, or torch tensors on the same
    device, with the same dtype. Latents are [B,C,T,h,w], or [B,C,h,w] for pictures;
    SeedVR2 also accepts [B,C*T,h,w], as ComfyUI's samplers leave them. Pixels are
    [B,C,T,H,W] or [B,C,H,W] in [-1,1]. Failures raise TesseraError; probable mistakes
    are warnings.
    """

    def __init__(
        self, address: str = "", *, model: str = "", token: str = "", tile: str = "", overlap: str = "", tiling: str = "",
        as_: str = "", independent_frames: bool | None = None, timeout: float | None = None, patience: float = 600,
    ) -> None:  # fmt: skip
        home = os.environ.get("TESSERA_SERVER") or HOME
        url = urlsplit(address or home)
        if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
            raise ValueError(f"the address is {address or home!r}, expected one such as {HOME}")
        own = os.environ.get("TESSERA_TOKEN", "") if not address or address == home else ""
        self._token = token or unquote(url.password or "") or own
        self._secure, self._host, self._port, self._path = url.scheme == "https", url.hostname, url.port, url.path.rstrip("/")
        self.address = f"{url.scheme}://{url.netloc.rpartition('@')[2]}{self._path}"
        self._timeout, self._patience = timeout, patience
        choices = {"model": model, "tile": tile, "overlap": overlap, "tiling": tiling, "as": as_}
        self._choices: dict[str, Any] = {name: value for name, value in choices.items() if value}
        if independent_frames is not None:
            self._choices["independent_frames"] = independent_frames
        self._config: Config | None = None

    def models(self) -> list[Config]:
        """The server's models."""
        kind = self._choices.get("as")
        with self._ask("GET", "/v1/models" + (f"?as={kind}" if kind else "")) as reply:
            told = self._told(reply)
        try:
            if not isinstance(told, list):
                raise TypeError
            return [Config.of(model) for model in told]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, MemoryError) as err:
            raise self._strange("/v1/models with JSON of another form") from err

    @property
    def config(self) -> Config:
        """The model's configuration, requested once."""
        if self._config is None:
            models, name = self.models(), self._choices.get("model")
            found = [m for m in models if name in (None, m.name)]
            if not found or (name is None and len(found) > 1):
                names = ", ".join(m.name for m in models) or "none"
                raise TesseraError(f"model is {name or 'missing'}, expected one of {self.address}'s: {names}")
            self._config = found[0]
        return self._config

    def decode(self, latents: Array, *, scale: Scale = "pipeline") -> Array:
        """Decode latents to pixels, in [-1,1] unless the model exceeds that."""
        body, shape, dtype = raw(latents, _FLOATS)
        query = {"output_type": "pt", "do_scaling": scale == "pipeline"}
        return like(latents, *self._tensor("/v1/decode", query, body, shape, dtype))

    def encode(
        self, pixels: Array, *, scale: Scale = "pipeline", sample: bool = False, seed: int | None = None, moments: bool = False
    ) -> Array:
        """Encode pixels, floats in [-1,1] or uint8, to latents: the mean, or with sample
        a draw. With moments return the VAE's unscaled means followed by log-variances,
        twice the channels. Results for uint8 are float32. Floats in [0,1] cause a
        warning, floats from 0 to 255 are refused."""
        query: dict[str, Any] = {"do_scaling": scale == "pipeline" and not moments, "sample": sample, "moments": moments}
        if seed is not None:
            query["seed"] = seed
        body, shape, dtype = raw(pixels, _PIXELS)
        return like(pixels, *self._tensor("/v1/encode", query, body, shape, dtype))

    def frames(
        self, latents: object, *, scale: Scale = "pipeline", dtype: Literal["uint8", "float32"] = "uint8",
        preview: str = "", show: Callable[[npt.NDArray[np.uint8]], object] | None = None,
    ) -> Iterator[npt.NDArray[Any]]:  # fmt: skip
        """Decode latents and yield numpy frames [H,W,C] as they are ready: 8-bit pixels,
        or floats in [-1,1]. The clips of a batch follow one another. Leaving the loop
        ends the job. preview names a tiny autoencoder among the server's models; show
        receives its clip [T,H,W,C] before the first frame."""
        if bool(preview) != bool(show):
            raise ValueError("preview and show: expected both or none")
        body, shape, kind = raw(latents, _FLOATS)
        if len(shape) not in (4, 5) or 0 in shape:
            raise ValueError(f"latents of shape {shape}, expected [B,C,T,h,w] or [B,C,h,w]")
        query = {"kind": "decode", "output": {"uint8": "u8", "float32": "f32"}[dtype], "scale": scale}
        if preview:
            query |= {"preview": preview, "preview_output": "u8"}
        for clip in body.reshape(shape[0], -1):
            yield from self._job({**query, "shape": [1, *shape[1:]], "dtype": kind}, clip, show)

    def _job(
        self, query: dict[str, Any], body: npt.NDArray[np.uint8], show: Callable[[npt.NDArray[np.uint8]], object] | None
    ) -> Iterator[npt.NDArray[Any]]:
        with self._ask("POST", "/v1/jobs", query, body) as reply:
            told = self._told(reply)
        if not isinstance(told, dict) or not re.fullmatch("[0-9a-f]{32}", str(told.get("id"))):
            raise self._strange("/v1/jobs with no job's number")
        job = "/v1/jobs/" + told["id"]
        try:
            if show:
                self._preview(job, show)
            with self._ask("GET", job + "/content") as reply:
                (frames, *size), dtype, _ = self._form(reply)
                if dtype not in ("uint8", "float32"):
                    raise self._strange(f"with frames of {dtype}")
                for _ in range(frames):
                    yield array(self._read(reply, math.prod(size) * _BYTES[dtype], job), size, dtype)
        finally:
            self._forget(job)

    def _preview(self, job: str, show: Callable[[npt.NDArray[np.uint8]], object]) -> None:
        """Show a job's preview when it is ready."""
        try:
            with self._ask("GET", job + "/preview") as reply:
                size, dtype, n = self._form(reply)
                if dtype != "uint8":
                    raise self._strange(f"with a preview of {dtype}")
                made = array(self._read(reply, n), size, dtype)
        except TesseraError as err:
            if err.status == http.HTTPStatus.CONFLICT:  # the job has ended; its content or error says how
                return
            raise
        show(made)

    def _forget(self, job: str) -> None:
        """Cancel and delete a job."""
        with suppress(TesseraError):
            for _ in range(2):  # the first request cancels a running job
                with self._ask("DELETE", job, timeout=10) as reply:
                    if reply.status == http.HTTPStatus.NO_CONTENT:
                        return

    def _tensor(
        self, path: str, query: dict[str, Any], body: npt.NDArray[np.uint8], shape: list[int], dtype: str
    ) -> tuple[bytearray, list[int], str]:
        with self._ask("POST", path, {**query, "shape": shape, "dtype": dtype}, body) as reply:
            for text in reply.headers.get_all("Tessera-Warning") or []:
                warnings.warn(f"tessera: {text}", stacklevel=3)
            shape, dtype, size = self._form(reply)
            if reply.length not in (None, size):
                raise self._strange(f"with {reply.length} bytes of {dtype} for the shape {shape}")
            return self._read(reply, size), shape, dtype

    def _form(self, reply: http.client.HTTPResponse) -> tuple[list[int], str, int]:
        """Return the shape, dtype and size in bytes of a response's tensor."""
        told, dtype = reply.headers.get("Shape", ""), reply.headers.get("Dtype", "")
        if dtype not in _BYTES:
            raise self._strange(f"with Dtype: {dtype!r:.60}")
        if not re.fullmatch(r"\[ *[1-9]\d{0,8}( *, *[1-9]\d{0,8}){0,4} *\]", told):
            raise self._strange(f"with Shape: {told!r:.60}")
        shape = [int(n) for n in told.strip("[]").split(",")]
        return shape, dtype, math.prod(shape) * _BYTES[dtype]

    def _read(self, reply: http.client.HTTPResponse, size: int, job: str = "") -> bytearray:
        """Read size bytes; if the job fails, the error says why."""
        try:
            data = bytearray(size)
        except (MemoryError, OverflowError) as err:
            raise TesseraError(f"{self.address} answers with {size} bytes, more than this machine's free memory") from err
        view, at = memoryview(data), 0
        try:
            while at < size and (n := reply.readinto(view[at:])):
                at += n
        except (OSError, http.client.HTTPException, ValueError):
            pass
        if at == size:
            return data
        if job:
            with self._ask("GET", job) as again:
                told = self._told(again)
                if isinstance(told, dict) and told.get("error"):
                    raise TesseraError(f"{self.address}: {told['error']}")
        raise TesseraError(self._gone() or f"{self.address} broke off after {at} of {size} bytes")

    @contextmanager
    def _ask(
        self, method: str, path: str, query: dict[str, Any] | None = None, body: npt.NDArray[np.uint8] | None = None,
        timeout: float | None = None,
    ) -> Iterator[http.client.HTTPResponse]:  # fmt: skip
        """Send a request and yield its response; retry while the server is busy."""
        if body is not None:
            path += "?" + urlencode({**self._choices, **(query or {})}, doseq=True)
        until = time.monotonic() + self._patience
        while True:
            connection, reply = self._send(method, path, body, timeout)
            try:
                if reply.status < 300:
                    yield reply
                    return
                error = self._refusal(reply)
                wait = _seconds(reply.headers.get("Retry-After", ""))
            finally:
                connection.close()
            if error.status != http.HTTPStatus.TOO_MANY_REQUESTS or time.monotonic() + wait > until:
                raise error
            time.sleep(wait)

    def _send(
        self, method: str, path: str, body: npt.NDArray[np.uint8] | None, timeout: float | None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=timeout or self._timeout)
        headers = {"Authorization": "Bearer " + self._token} if self._token else {}
        try:
            try:
                connection.request(method, self._path + path, None if body is None else body.data, headers)
            except (BrokenPipeError, ConnectionResetError):  # the server may have refused it before all was sent
                if connection.sock is None:
                    raise
            return connection, connection.getresponse()
        except ssl.SSLCertVerificationError as err:
            connection.close()
            raise TesseraError(f"the certificate of {self.address} is not trusted: {err.verify_message}") from err
        except (OSError, http.client.HTTPException, ValueError) as err:
            connection.close()
            raise TesseraError(
                self._gone()
                or f"no tessera server answers at {self.address} ({err or type(err).__name__}): start one with `tessera serve -m CHECKPOINT`"
            ) from err

    def _gone(self) -> str:
        """Explain why there is no response, if known."""
        return ""

    def _refusal(self, reply: http.client.HTTPResponse) -> TesseraError:
        try:
            told = json.loads(reply.read(1 << 20))
            return TesseraError(f"{self.address}: {told['error']}", reply.status, str(told.get("code", "")))
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, RecursionError):
            return self._strange(f"{reply.status} {reply.reason}", reply.status)

    def _strange(self, what: str, status: int = 0) -> TesseraError:
        return TesseraError(f"{self.address} answers {what}, expected a tessera server", status)

    def _told(self, reply: http.client.HTTPResponse) -> Any:
        try:
            text = reply.read((16 << 20) + 1)
            if len(text) > 16 << 20:
                raise self._strange("with more than 16 MiB of JSON")
            return json.loads(text)
        except (OSError, http.client.HTTPException, ValueError, RecursionError) as err:
            raise self._strange("with no JSON") from err


def _seconds(after: str) -> float:
    """Return the wait of a Retry-After header, a number or a date, limited to between
    one second and ten minutes."""
    try:
        wait = float(after)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(after).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            wait = 1
    return min(max(1.0, wait), 600.0)  # NaN becomes 1


