"""Tests integrations/python and the client of integrations/comfyui with a server that
answers strangely: each call must end with a TesseraError within seconds, whatever the
answer.

tools/clients.sh python runs it; needs numpy.
"""

import importlib.util
import itertools
import os
import socket
import sys
import threading
import time

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "integrations", "python", "src"))

from tessera_vae import Server, TesseraError  # noqa: E402

spec = importlib.util.spec_from_file_location("client", os.path.join(ROOT, "integrations", "comfyui", "client.py"))
comfyui = importlib.util.module_from_spec(spec)
spec.loader.exec_module(comfyui)
comfyui.TIMEOUT, comfyui.PATIENCE = 5, 1.5

JOB = b'{"id":"' + b"0" * 32 + b'","state":"done"}'
STATES = [
    b'"bytes":-1', b'"bytes":"x"', b'"bytes":7,"progress":{"done":"x"}', b'"bytes":7,"progress":{"done":NaN}', b'"bytes":1e99',
    b'"bytes":7,"progress":{"done":1' + b"0" * 400 + b"}", b'"bytes":7,"warnings":7', b'"bytes":7', b'"bytes":4,"shape":[1,1,1]',
    b'"bytes":4,"shape":[1,1,1,"x"]', b'"bytes":9007199254740988,"shape":[1,1,1,2251799813685247]', b'"bytes":4,"shape":[1,1,-1,-1]',
    b'"bytes":4000,"shape":[10,10,10,1]',
]  # fmt: skip
MODEL = b'{"latent":16,"channels":3,"spatial":8,"temporal":4,"independent":false,"comfyui_unscaled":true,"comfyui_folded":false,"model":"m"}'
JSON = [
    b"", b"no JSON", b"null", b"[]", b"{}", b"7", b'"text"', b"[" * 100_000, b'{"id":7}', b'{"id":"../../x"}', b'[{"name":"m"}]',
    b'[{"name":"m","config":null}]', b'[{"name":"m","config":{"latent":"x"}}]', b'{"error":null}', b'{"error":{"a":[]},"code":[]}',
    b"\xff\xfe", b"1" * 100_000, JOB, *(JOB[:-1] + b"," + state + b"}" for state in STATES),
    b'[{"name":"m","config":' + MODEL.replace(b"16", b"0") + b"}]", b'[{"name":"m","config":' + MODEL.replace(b"independent", b"x") + b"}]",
    b'[{"name":[],"config":' + MODEL + b"}]",
    b'[{"name":"m","config":' + MODEL[:-1].replace(b"16", b"1000000000") + b',"family":"f","widths":[],"time_down":[],"mean":null,"scale":null}}]',
]  # fmt: skip
WAIT = ["0", "-1", "NaN", "inf", "1e400", "soon", "", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 99 Oct 2015"]
FORMS = [
    {}, {"Shape": "[1,3,1,8,8]"}, {"Dtype": "float32"}, {"Shape": "x", "Dtype": "float32"}, {"Shape": "[]", "Dtype": "uint8"},
    {"Shape": "[-1]", "Dtype": "uint8"}, {"Shape": "[1,3,1,8,8]", "Dtype": "float64"}, {"Shape": "[1,3,1,8,8]", "Dtype": "float32"},
    {"Shape": "[999999999,999999999,999999999]", "Dtype": "uint8"}, {"Shape": "[1.5]", "Dtype": "uint8"}, {"Shape": '"a"', "Dtype": "uint8"},
    {"Shape": "[" * 9999, "Dtype": "uint8"},
]  # fmt: skip


def answers():
    """Complete answers, each to one request."""
    for status, text in itertools.product(["200 OK", "201 Created", "400 Bad", "500 Broken", "507 Full", "302 Found"], JSON):
        yield f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text
    for after in WAIT:
        yield f"HTTP/1.1 429 Busy\r\nRetry-After: {after}\r\nContent-Length: 15\r\n\r\n".encode() + b'{"error":"busy"}'
    for form, length in itertools.product(FORMS, ["0", "5", "-5", "x", "99999999999999999999", None]):
        headers = "".join(f"{name}: {value}\r\n" for name, value in form.items())
        size = f"Content-Length: {length}\r\n" if length else ""
        yield f"HTTP/1.1 200 OK\r\n{headers}{size}\r\nbegin".encode()
    yield b""
    yield b"no HTTP\r\n\r\n"
    yield b"HTTP/1.1 999999999999 ?\r\n\r\n"
    yield b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n"
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n"
    yield b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"


def serve(listener, answer):
    """Answers every request with the same bytes."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            try:
                connection.settimeout(1)
                connection.recv(1 << 16)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 16):
                    pass
            except OSError:
                pass


def run(server, floats):
    """Use a job like the nodes do."""
    with server.job({"kind": "decode"}, bytes(64), lambda done: None) as (state, reply):
        if floats:
            server.floats(state)
        made = server.memory(state["bytes"])
        comfyui.fill(reply, made, lambda done: None)
        raise comfyui.TesseraError("which made something")  # a node continues after it


def main():
    z = numpy.zeros((1, 4, 1, 2, 2), numpy.float32)
    calls = {
        "models": lambda s: s.models(),
        "config": lambda s: s.config,
        "decode": lambda s: s.decode(z),
        "encode": lambda s: s.encode(z),
        "frames": lambda s: list(s.frames(z)),
    }
    count = 0
    for answer in answers():
        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=serve, args=(listener, answer), daemon=True).start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server, node = Server(address, timeout=5, patience=1.5), comfyui.Server(address)
        nodes = {
            "a node's model": lambda _: node.config(),
            "a node's frames": lambda _: run(node, floats=True),
            "a node's latent": lambda _: run(node, floats=False),
        }
        for name, call in (calls | nodes).items():
            begun = time.monotonic()
            try:
                call(server)
            except (TesseraError, comfyui.TesseraError):
                pass
            except Exception as err:
                sys.exit(f"{name} of {answer[:200]!r} ends with {err!r}, expected a TesseraError")
            else:
                assert name == "models" and answer.endswith(b"\r\n\r\n[]"), f"{name} took {answer[:200]!r}"
            took = time.monotonic() - begun
            assert took < 30, f"{name} of {answer[:200]!r} took {took:.0f} s"
            count += 1
        listener.close()
    print(f"{count} calls of strange servers: each a TesseraError")


main()
