"""Run a program until standard input ends, so that it never outlives the process that
started it, however that process ends. The exit code is the program's, or 128 plus the
signal that ended it. This is a separate command: it imports nothing of the package."""

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
