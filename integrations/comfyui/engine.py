"""The engine on this machine: one `tessera serve` for this ComfyUI.

The wheel tessera-vae carries the program. It starts when a checkpoint is first used,
ends when ComfyUI frees its memory or no node uses it, and ends with ComfyUI, also if
ComfyUI is killed.
"""

import itertools
import logging
import os
import re
import threading
import weakref

from .client import Server, TesseraError, split


class Engine:
    """The program and the checkpoints that it serves. A new checkpoint restarts it."""

    def __init__(self, *arguments):
        self.arguments = list(arguments)  # for `tessera serve`
        self.lock = threading.RLock()
        self.program = None
        self.used = {}  # number of users of each file
        self.names = {}  # names of files in the program
        self.files = []  # files that it serves
        self.good = set()  # files that it has served; a bad file must not prevent a start

    def use(self, file, owner):
        """Serve a file as long as owner lives, and return its name."""
        with self.lock:
            self.used[file] = self.used.get(file, 0) + 1
            name = self.names.setdefault(file, fresh(file, self.names.values()))
        weakref.finalize(owner, self.leave, file).atexit = False
        return name

    def leave(self, file):
        with self.lock:
            self.used[file] -= 1
            unused = not any(self.used.values())
        if unused:
            threading.Thread(target=self.close).start()  # must not block the garbage collector

    def start(self, file):
        """Start the program unless it runs with the file; return its address and token."""
        with self.lock:
            if self.program and (file not in self.files or self.ended()):
                self.close()
            if not self.program:
                self.files = [f for f in self.used if f == file or self.used[f] and f in self.good and os.path.isfile(f)]
                self.program = self.begin({self.names[f]: f for f in self.files})
                self.good.update(self.files)
            return self.program.address, self.program.token

    def begin(self, files):
        try:
            from tessera_vae import Program, TesseraError as Failure
        except ImportError as err:
            raise TesseraError(
                f"the package tessera-vae is not installed here ({err}): run `python -m pip install tessera-vae` "
                "with ComfyUI's Python, or connect the node Tessera Server"
            ) from None
        try:
            program = Program(files, arguments=self.arguments)
        except Failure as err:
            raise TesseraError(str(err)) from None
        logging.info("tessera: the engine serves %s", ", ".join(files))
        return program

    def running(self, file):
        """Return whether the program holds memory for the file."""
        return self.program is not None and file in self.files

    def ended(self, wait=0):
        """Explain how the program ended; "" if it still runs after the given seconds."""
        return self.program.ended(wait) if self.program else ""

    def close(self):
        """End the program, which frees its memory."""
        with self.lock:
            if self.program:
                self.program.close()
                self.program = None
                logging.info("tessera: the engine has ended")


class Local(Server):
    """A checkpoint on this machine, as a model of the engine's server."""

    def __init__(self, engine, file, **choices):
        super().__init__("127.0.0.1", engine.use(file, self), **choices)
        self.engine, self.file, self.secret = engine, file, ""

    def start(self):
        address, self.secret = self.engine.start(self.file)
        self.scheme, self.host, self.port, self.path = split(address)

    def token(self):
        return self.secret

    def config(self):
        return self.started(super().config)

    def begin(self, path, wait):
        return self.started(super().begin, path, wait)

    def started(self, ask, *what):
        """Send a request; restart the program if it has just ended."""
        self.start()
        try:
            return ask(*what)
        except Ended:
            self.start()
            return ask(*what)

    def missing(self, err):
        how = self.engine.ended(2)  # connections end before the program does
        return Ended(how) if how else super().missing(err)


class Ended(TesseraError):
    """Explain how the program ended, with its last message."""


def fresh(file, others):
    """Return an unused name for a file."""
    stem = re.sub(r"[^\w.-]+", "_", os.path.splitext(os.path.basename(file))[0], flags=re.ASCII)
    return next(name for n in itertools.count(1) if (name := stem if n == 1 else f"{stem}-{n}") not in others)
