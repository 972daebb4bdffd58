"""The program on this machine, as a private server."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from . import _keeper
from ._client import Server, TesseraError
from ._own import name, own


def find(program: str = "") -> str:
    """Find the program: the named one, TESSERA_PROGRAM's, this package's, or the one in
    PATH."""
    for found in (program, os.environ.get("TESSERA_PROGRAM", ""), own(), shutil.which(name()) or ""):
        if found:
            return found
    raise TesseraError("no tessera program: put it on the PATH, or name it with program= or TESSERA_PROGRAM")


class Program(Server):
    """The program, started with a checkpoint, which stays loaded until close, or the
    end of a with block or of this process. It is a Server that only this process can
    use.

    checkpoint   the model's file, or several by their names: {"wan": "Wan2.1_VAE.pth"}
    program      the program's file, see find
    arguments    more of `tessera serve`'s, such as ["--precision", "f32"]

    Other arguments are Server's.
    """

    def __init__(
        self, checkpoint: str | os.PathLike[str] | Mapping[str, str], *, program: str = "", arguments: list[str] | None = None, **choices: Any
    ) -> None:
        self.token = token = secrets.token_urlsafe(32)
        files = checkpoint if isinstance(checkpoint, Mapping) else {"model": checkpoint}
        self._messages = tempfile.TemporaryFile("a+b")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "token"
            file.touch(0o600)
            file.write_text(token)
            command = [find(program), "serve", "--json", "--listen", "127.0.0.1:0", "--token-file", str(file)]
            for name, model in files.items():
                command += ["--model", name + "=" + os.path.abspath(model)]
            command += arguments or []
            self._process = self._begin(command)
            super().__init__(self._address(), token=token, **choices)

    def _begin(self, command: list[str]) -> subprocess.Popen[bytes]:
        own: dict[str, Any] = {"start_new_session": True}  # Ctrl+C must not reach it
        if sys.platform == "win32":
            own = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
        return subprocess.Popen(
            [sys.executable, "-I", _keeper.__file__, *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._messages, **own,
        )  # fmt: skip

    def _address(self) -> str:
        assert self._process.stdout
        text, told = b"", {}
        for line in self._process.stdout:
            text += line
            with suppress(ValueError):
                told = json.loads(text)
                break
        if url := told.get("url"):
            return str(url).partition("/#")[0]
        self.close()
        raise TesseraError(f"the program did not start: {told.get('error') or self._end()}")

    def _gone(self) -> str:
        if self._process.stdin and self._process.stdin.closed:
            return "the program was closed"
        return self.ended(2)  # connections end before the program does

    def ended(self, wait: float = 0) -> str:
        """Explain how the program ended; empty if it still runs after the given seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
            return self._end()
        return ""

    def _end(self) -> str:
        """Explain how the program ended, with its last message."""
        code = self._process.returncode
        how = f"signal {code - 128}" if code > 128 else f"exit code {code}"
        said = "\n".join(self.messages().splitlines()[-5:])
        return f"the program ended with {how} and printed:\n{said}" if said else f"the program ended with {how}"

    def messages(self) -> str:
        """Return what the program wrote to standard error."""
        self._messages.seek(0)
        return self._messages.read().decode(errors="replace").strip()

    def close(self) -> None:
        """End the program."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
