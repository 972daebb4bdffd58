"""Runs a program until standard input ends, so that it never outlives who started
it, however that ends, and ends as it does: 128 and the signal, where it was one. A
command of its own: it imports nothing of the package."""

import os
import subprocess
import sys
import threading


def main() -> None:
    try:
        program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    except OSError as err:
        sys.exit(str(err))

    def watch() -> None:
        sys.stdin.buffer.read()
        program.terminate()
        try:
            program.wait(10)
        except subprocess.TimeoutExpired:
            program.kill()

    threading.Thread(target=watch, daemon=True).start()
    code = program.wait()
    os._exit(128 - code if code < 0 else min(code, 255))


if __name__ == "__main__":
    main()
