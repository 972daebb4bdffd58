"""Runs a program until standard input ends, so that it never outlives who started
it, however that ends. A command of its own: it imports nothing of the package."""

import os
import subprocess
import sys
import threading


def main() -> None:
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)

    def watch() -> None:
        sys.stdin.buffer.read()
        program.terminate()
        try:
            program.wait(10)
        except subprocess.TimeoutExpired:
            program.kill()

    threading.Thread(target=watch, daemon=True).start()
    os._exit(program.wait() & 0xFF)


if __name__ == "__main__":
    main()
