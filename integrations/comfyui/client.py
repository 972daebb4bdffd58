"""A client of `tessera serve` over HTTP, with Python's standard library alone.

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
PART = 8 << 20  # bytes to send or read before the next check for cancellation
PATIENCE = 600  # seconds to retry while a server is busy


class TesseraError(RuntimeError):
    """An error with a text for the reader of the node's error."""


class Busy(TesseraError):
    """The server's queue is full; wait is the time until the next try, in seconds."""

    def __init__(self, text, wait):
        super().__init__(text)
        self.wait = wait


def home():
    """Return the server that TESSERA_SERVER names, else this machine's."""
    return os.environ.get("TESSERA_SERVER", "").strip() or HOME


def split(address):
    """Split an address into scheme, host, port and path; raise TesseraError if invalid."""
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
    """A `tessera serve`, with the options of its jobs."""

    def __init__(self, address="", model="", **choices):
        self.scheme, self.host, self.port, self.path = split(address)
        self.model = model.strip()
        self.choices = {name.rstrip("_"): value for name, value in choices.items() if value}  # as_ means as, which Python reserves

    @property
    def address(self):
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    def token(self):
        """Return TESSERA_TOKEN, but only for the server that TESSERA_SERVER names: an
        address in a foreign workflow must not receive it."""
        own = split("") == (self.scheme, self.host, self.port, self.path)
        return os.environ.get("TESSERA_TOKEN", "").strip() if own else ""

    @contextlib.contextmanager
    def ask(self, method, path, body=None, headers=None):
        """Send a request and yield its response."""
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
        """Return the error for a missing response."""
        return TesseraError(
            f"no tessera server answers at {self.address} ({err or type(err).__name__}): connect the node "
            "Load VAE (Tessera), start a server with `tessera serve -m CHECKPOINT`, or name another in the node Tessera Server"
        )

    def refusal(self, reply):
        """Return the error for a server's refusal."""
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
        return TesseraError(f"{self.address} answers {what}, expected a tessera server")

    def tell(self, method, path, body=None, headers=None):
        """Send a request and return the JSON of its response."""
        with self.ask(method, path, body, headers) as reply:
            text = reply.read(16 << 20)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self.strange("with no JSON") from None

    def tell_job(self, method, path, body=None, headers=None):
        """Send a request and return the job's state."""
        state = self.tell(method, path, body, headers)
        known = isinstance(state, dict) and isinstance(state.get("state"), str)
        if not known or not re.fullmatch("[0-9a-f]{32}", str(state.get("id"))) or not whole(state.get("bytes"), 0):
            raise self.strange("with JSON that is not a job's state")
        progress, warnings = state.get("progress") or {}, state.get("warnings") or []
        if not isinstance(progress, dict) or not number(progress.get("done", 0)) or not isinstance(warnings, list):
            raise self.strange("with JSON that is not a job's state")
        return state

    def floats(self, state):
        """Return the shape [T,H,W,C] of a job's float32 output."""
        shape = state.get("shape")
        if not isinstance(shape, list) or len(shape) != 4 or not all(map(whole, shape)) or 4 * math.prod(shape) != state.get("bytes"):
            raise self.strange("with a shape that does not match the frames")
        return shape

    def memory(self, size):
        """Allocate the given number of bytes."""
        try:
            return bytearray(size)
        except (MemoryError, OverflowError) as err:
            raise TesseraError(f"{self.address} answers with {size} bytes, more than this machine's free memory") from err

    def config(self):
        """Return the model's name and the server's description of it."""
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
            raise self.strange("with JSON that is not a list of models") from None
        if not models:
            raise TesseraError(f"{self.address} serves no model: start it with `tessera serve -m CHECKPOINT`")
        if self.model and self.model not in names:
            raise TesseraError(f"{self.address} has no model {self.model!r}, it has {', '.join(names)}")
        return models[names.index(self.model) if self.model else 0]

    @contextlib.contextmanager
    def job(self, query, body, wait, preview="", show=None):
        """Run a job, and yield its final state and a response to read its output from.
        body is a buffer, sent in parts. job calls wait(done) repeatedly with the job's
        progress, 0 to 1; an exception of wait cancels the job. The server forgets the
        job afterwards in any case. preview names a model of the server for a preview:
        job calls show(shape, bytes) with its decode, [T,H,W,C] in 8 bits."""
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
        """Create a job; retry while the server is busy."""
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
        """Send a job's input in parts."""
        size = len(body)
        for first in range(0, size, PART):
            wait(0.0)
            part = body[first : first + PART]
            ranges = f"bytes {first}-{first + len(part) - 1}/{size}"
            self.tell("PATCH", path + "/input", part, {"Content-Range": ranges})

    def preview(self, path, show):
        """Show the preview of a job, unless the job has ended meanwhile."""
        with contextlib.suppress(TesseraError), self.ask("GET", path + "/preview") as reply:
            told = reply.headers.get("Shape", "")
            shape = [int(n) for n in re.findall(r"\d+", told)] if len(told) < 100 else []
            if len(shape) == 4 and reply.length == math.prod(shape):
                pixels = self.memory(reply.length)
                fill(reply, pixels, lambda _: None)
                show(shape, pixels)

    def follow(self, path, wait, show=None):
        """Wait until a job is done and return its state."""
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
            pause = min(2 * pause, 0.1 if show else 0.5)  # to show a preview early


def whole(n, least=1):
    """Return whether a JSON value is an integer, at least `least`."""
    return type(n) is int and least <= n < 1 << 53


def number(n):
    """Return whether a JSON value is a finite number."""
    return type(n) in (int, float) and abs(n) < 1 << 53


def seconds(after):
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


def fill(reply, buffer, wait):
    """Read a response of known size."""
    buffer = memoryview(buffer).cast("B")
    at = 0
    while at < len(buffer):
        wait(1.0)
        n = reply.readinto(buffer[at : at + PART])
        if not n:
            raise TesseraError(f"the answer ends after {at} of {len(buffer)} bytes")
        at += n
