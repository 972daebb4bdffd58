"""Asks a `tessera serve` over HTTP, with Python's own library and nothing else.

It knows neither ComfyUI nor torch: tensors are bytes here. Start at Server and
Server.job.
"""

import contextlib
import email.utils
import http.client
import json
import math
import os
import re
import ssl
import time
from urllib.parse import quote, urlencode, urlsplit

HOME = "http://127.0.0.1:7878"
TIMEOUT = 60  # seconds without a byte
PART = 8 << 20  # bytes that are sent or read between two looks at whether it goes on
PATIENCE = 600  # seconds that a server may say it is busy


class TesseraError(RuntimeError):
    """What is wrong, in words for whoever reads the node's error."""


class Busy(TesseraError):
    """The server's queue is full; wait is when to ask again, in seconds."""

    def __init__(self, text, wait):
        super().__init__(text)
        self.wait = wait


def home():
    """The server that TESSERA_SERVER names, else this machine's."""
    return os.environ.get("TESSERA_SERVER", "").strip() or HOME


def split(address):
    """Scheme, host, port and path of an address; raises TesseraError."""
    text = address.strip() or home()
    if "://" not in text:
        text = "http://" + text
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as err:
        raise TesseraError(f"the address {address!r} can't be read: {err}") from None
    if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
        raise TesseraError(f"the address is {address!r}, expected one such as {HOME}")
    if url.username is not None or url.password is not None:
        raise TesseraError(
            "the address has a token in it, which workflows and pictures would keep: "
            "start ComfyUI with it as TESSERA_TOKEN, and the address as TESSERA_SERVER"
        )
    return url.scheme, url.hostname, port or {"http": 80, "https": 443}[url.scheme], url.path.rstrip("/")


class Server:
    """A tessera serve, and what is asked of each of its jobs."""

    def __init__(self, address="", model="", **choices):
        self.scheme, self.host, self.port, self.path = split(address)
        self.model = model.strip()
        self.choices = {name.rstrip("_"): value for name, value in choices.items() if value}  # as_ is as: Python reserves it

    @property
    def address(self):
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    def token(self):
        """TESSERA_TOKEN, for the server that TESSERA_SERVER names and no other: an
        address in somebody's workflow gets none."""
        own = split("") == (self.scheme, self.host, self.port, self.path)
        return os.environ.get("TESSERA_TOKEN", "").strip() if own else ""

    @contextlib.contextmanager
    def ask(self, method, path, body=None, headers=None):
        """The answer to a request, while it is read."""
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        headers = dict(headers or {})
        if token := self.token():
            headers["Authorization"] = "Bearer " + token
        connection = kind(self.host, self.port, timeout=TIMEOUT)
        try:
            connection.request(method, self.path + path, body, headers)
            reply = connection.getresponse()
            if reply.status >= 300:
                raise self.refusal(reply)
            yield reply
        except ssl.SSLCertVerificationError as err:
            raise TesseraError(
                f"the certificate of {self.address} is not trusted ({err.verify_message}): "
                "start ComfyUI with SSL_CERT_FILE naming one's own"
            ) from err
        except (OSError, http.client.HTTPException, UnicodeError) as err:
            raise self.missing(err) from err
        finally:
            connection.close()

    def missing(self, err):
        """Why there is no answer."""
        return TesseraError(
            f"no tessera server answers at {self.address} ({err or type(err).__name__}): connect the node "
            "Load VAE (Tessera), start a server with `tessera serve -m CHECKPOINT`, or name another in the node Tessera Server"
        )

    def refusal(self, reply):
        """What a server's refusal means."""
        try:
            text = json.loads(reply.read(1 << 20))["error"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return self.strange(f"{reply.status} {reply.reason}")
        if reply.status == 401 and self.token():
            return TesseraError(f"{self.address} does not know the token in TESSERA_TOKEN")
        if reply.status == 401:
            return TesseraError(
                f"{self.address} asks for a token: start ComfyUI with TESSERA_SERVER={self.address} "
                "and TESSERA_TOKEN=… in its environment; no other address is sent it"
            )
        if reply.status == 429:
            return Busy(f"{self.address}: {text}", seconds(reply.headers.get("Retry-After", "")))
        return TesseraError(f"{self.address}: {text}")

    def strange(self, what):
        return TesseraError(f"{self.address} answers {what}, as no tessera server does")

    def tell(self, method, path, body=None, headers=None):
        """The JSON that a request is answered with."""
        with self.ask(method, path, body, headers) as reply:
            text = reply.read(16 << 20)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self.strange("with no JSON") from None

    def tell_job(self, method, path, body=None, headers=None):
        """A job's state."""
        state = self.tell(method, path, body, headers)
        known = isinstance(state, dict) and isinstance(state.get("state"), str)
        if not known or not re.fullmatch("[0-9a-f]{32}", str(state.get("id"))) or not whole(state.get("bytes"), 0):
            raise self.strange("with JSON that is no job's state")
        progress, warnings = state.get("progress") or {}, state.get("warnings") or []
        if not isinstance(progress, dict) or not number(progress.get("done", 0)) or not isinstance(warnings, list):
            raise self.strange("with JSON that is no job's state")
        return state

    def floats(self, state):
        """The shape [T,H,W,C] of the float32 that a job made."""
        shape = state.get("shape")
        if not isinstance(shape, list) or len(shape) != 4 or not all(map(whole, shape)) or 4 * math.prod(shape) != state.get("bytes"):
            raise self.strange("with a shape that is not the frames' bytes")
        return shape

    def memory(self, size):
        """As many bytes."""
        try:
            return bytearray(size)
        except (MemoryError, OverflowError) as err:
            raise TesseraError(f"{self.address} answers with {size} bytes, and this machine has no memory for them") from err

    def config(self):
        """The model's name and what the server tells of it."""
        models = self.tell("GET", "/v1/models")
        try:
            names = [m["name"] + "" for m in models]
            for m in models:
                c = m["config"]
                sizes = [c[name] for name in ("latent", "channels", "spatial", "temporal")]
                if not all(whole(n) and n < 1 << 16 for n in [*sizes, c.get("batch", 1)]):
                    raise TypeError
                c["independent"], c["comfyui_unscaled"], c["comfyui_folded"], c["model"] + ""
        except (KeyError, TypeError, AttributeError):
            raise self.strange("with JSON that is no list of models") from None
        if not models:
            raise TesseraError(f"{self.address} serves no model: start it with `tessera serve -m CHECKPOINT`")
        if self.model and self.model not in names:
            raise TesseraError(f"{self.address} has no model {self.model!r}, it has {', '.join(names)}")
        return models[names.index(self.model) if self.model else 0]

    @contextlib.contextmanager
    def job(self, query, body, wait, preview="", show=None):
        """A finished job's state and what it made, as a readable answer, while
        that is read. body is a buffer, sent in parts. wait(done) is called again and
        again with how far the job is, 0 to 1; what it raises ends the job. In any
        case the server forgets the job afterwards. preview names the model of the
        server's whose decode show(shape, bytes) is called with, [T,H,W,C] of 8 bits."""
        body = memoryview(body).cast("B")
        query = {**self.choices, **query, "size": len(body)}
        if preview:
            query |= {"preview": preview, "preview_output": "u8"}
        if self.model:
            query["model"] = self.model
        state = self.begin("/v1/jobs?" + urlencode(query, quote_via=quote), wait)
        path = "/v1/jobs/" + state["id"]
        try:
            self.send(path, body, wait)
            state = self.follow(path, wait, show)
            with self.ask("GET", path + "/content") as reply:
                yield state, reply
        finally:
            with contextlib.suppress(TesseraError):
                with self.ask("DELETE", path):
                    pass

    def begin(self, path, wait):
        """A new job, once the server has a place for it."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return self.tell_job("POST", path)
            except Busy as busy:
                again = time.monotonic() + busy.wait
                if again > until:
                    raise
            while time.monotonic() < again:
                wait(0.0)
                time.sleep(0.1)

    def send(self, path, body, wait):
        """A job's input, part after part."""
        size = len(body)
        for first in range(0, size, PART):
            wait(0.0)
            part = body[first : first + PART]
            ranges = f"bytes {first}-{first + len(part) - 1}/{size}"
            self.tell("PATCH", path + "/input", part, {"Content-Range": ranges})

    def preview(self, path, show):
        """Shows the preview of a job, unless the job is over meanwhile."""
        with contextlib.suppress(TesseraError), self.ask("GET", path + "/preview") as reply:
            told = reply.headers.get("Shape", "")
            shape = [int(n) for n in re.findall(r"\d+", told)] if len(told) < 100 else []
            if len(shape) == 4 and reply.length == math.prod(shape):
                pixels = self.memory(reply.length)
                fill(reply, pixels, lambda _: None)
                show(shape, pixels)

    def follow(self, path, wait, show=None):
        """The state of a job that is done."""
        pause = 0.02
        while True:
            state = self.tell_job("GET", path)
            if show and state.get("preview"):
                self.preview(path, show)
                show = None
            if state["state"] == "done":
                return state
            if state["state"] not in ("receiving", "queued", "running"):
                raise TesseraError(f"{self.address}: {state.get('error') or 'the job is ' + state['state']}")
            wait((state.get("progress") or {}).get("done", 0.0))
            time.sleep(pause)
            pause = min(2 * pause, 0.1 if show else 0.5)  # so that a preview is shown early


def whole(n, least=1):
    """Whether JSON's n is a whole number."""
    return type(n) is int and least <= n < 1 << 53


def number(n):
    """Whether JSON's n is a number, and no NaN or infinity."""
    return type(n) in (int, float) and abs(n) < 1 << 53


def seconds(after):
    """How long a Retry-After asks to wait, a number or a date: between one second and
    ten minutes."""
    try:
        wait = float(after)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(after).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            wait = 1
    return min(max(1.0, wait), 600.0)  # of NaN: 1


def fill(reply, buffer, wait):
    """Reads an answer of a known size."""
    buffer = memoryview(buffer).cast("B")
    at = 0
    while at < len(buffer):
        wait(1.0)
        n = reply.readinto(buffer[at : at + PART])
        if not n:
            raise TesseraError(f"the answer ends after {at} of {len(buffer)} bytes")
        at += n
