"""The commands tessera and tessera-vae, and python -m tessera_vae: the program."""

import os
import signal
import subprocess
import sys

from ._own import own


def main() -> None:
    program = os.environ.get("TESSERA_PROGRAM") or own()
    if not program:
        sys.exit("tessera: this package was installed without the program: install its wheel, or name a program with TESSERA_PROGRAM")
    command = [program, *sys.argv[1:]]
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program receives Ctrl+C too, and handles it
        sys.exit(subprocess.call(command))
    os.execv(program, command)


if __name__ == "__main__":
    main()
