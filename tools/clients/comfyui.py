"""Tests integrations/comfyui in a real ComfyUI without a window, against a real
tessera serve: every result must equal the command line's, bit for bit.

tools/clients.sh comfyui installs its requirements and runs it:

    python tools/clients/comfyui.py --comfyui DIR --tessera FILE --models DIR --folder DIR
"""

import argparse
import contextlib
import functools
import glob
import http.client
import http.server
import importlib.util
import io
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import sysconfig
import threading
import time
import uuid

import numpy
from PIL import Image, ImageOps
from safetensors.numpy import load_file, save_file
from websockets.sync.client import connect

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACK = os.path.join(ROOT, "build", "clients", "tessera-comfyui")  # as tools/comfyui.sh writes it
PACKED = os.path.basename(PACK)
PROGRAM = os.path.join(sysconfig.get_path("purelib"), "tessera_vae", "bin", "tessera")  # of the installed wheel
TOKEN = "a-token-of-clients-0123"
SMALL = ["seedvr2", "wan", "wan22", "qwen", "layered"]
FLAT = {"sdxl": 4, "flux2_vae": 128}  # models of pictures alone, and the channels of their latents
NAMES = [*SMALL, "published", *FLAT]
OWN = ["sd", "taesd"]  # with the sizes of ComfyUI's own VAEs, like "published"
ALL = "addresses tokens schemas decodes previews batches encodes own pictures flat sizes workflows wrong cancel busy vaes core saved freed killed manager".split()
random = numpy.random.default_rng(7)


def main():
    p = argparse.ArgumentParser()
    for name in ("comfyui", "tessera", "models", "folder"):
        p.add_argument("--" + name, required=True, type=os.path.abspath)
    p.add_argument("--only", nargs="+", choices=ALL)
    p.add_argument("--nodes", nargs="+", help="of core: these only")
    o = p.parse_args()
    shutil.rmtree(o.folder, ignore_errors=True)
    os.makedirs(o.folder)
    with contextlib.ExitStack() as ends:
        server = ends.enter_context(Tessera(o))
        comfy = ends.enter_context(Comfy(o, server.address))
        for test in o.only or ALL:
            test = globals()[test]
            begun = time.monotonic()
            test(comfy, server)
            print(f"comfyui: {test.__name__}: {time.monotonic() - begun:.1f} s", flush=True)


def client():
    """Load the pack's client, which does not need ComfyUI."""
    spec = importlib.util.spec_from_file_location("client", os.path.join(PACK, "client.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def filename(name):
    return {"qwen": "qwen_image_vae"}.get(name, name) + ".safetensors"


class Process:
    """A program with its output in a file. It ends with the block."""

    def begin(self, o, name, command, **env):
        self.log = os.path.join(o.folder, name + ".log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=o.folder, env={**os.environ, **env})

    def text(self):
        with open(self.log) as f:
            return f.read()

    def wait(self, there):
        """Wait until there() finds something in the output, and return it."""
        until = time.monotonic() + 300
        while not (found := there()):
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f"comfyui: {self.process.args[0]} did not begin:\n{self.text()[-4000:]}")
            time.sleep(0.2)
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Tessera(Process):
    """A server with all models that requires a token, and the command line beside it."""

    def __init__(self, o, name="serve", *more):
        self.o = o
        self.jobs = os.path.join(o.folder, name + "-jobs")
        tokens = os.path.join(o.folder, "tokens.txt")
        with open(tokens, "w") as f:
            f.write("test " + TOKEN + "\n")
        models = [a for name in (*NAMES, "taew2_1") for a in ("-m", f"{name}={self.model(name)}")]
        self.begin(o, name, [o.tessera, "serve", *models, *more, "--listen", "127.0.0.1:0", "--precision", "f32",
                                "--token-file", tokens, "--jobs", self.jobs, "--no-tune"])
        self.address = self.wait(lambda: re.search(r"http://[\d.]+:\d+", self.text())).group()

    def model(self, name):
        return os.path.join(self.o.models, filename(name))

    def run(self, command, name, *arguments):
        """Run the command line with a model."""
        command = [self.o.tessera, command, "-m", self.model(name), "--precision", "f32", "--no-tune", "-q", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.o.folder)
        assert done.returncode == 0, f"{command}: {done.stderr}"

    def states(self):
        """The states of the stored jobs."""
        found = []
        for path in glob.glob(os.path.join(self.jobs, "**", "job.json"), recursive=True):
            with open(path) as f:
                found.append(json.load(f)["state"])
        return found


class Comfy(Process):
    """A ComfyUI whose environment names the server and its token. One with ComfyUI Manager has no pack at first."""

    def __init__(self, o, address, base="base", managed=False):
        self.o, self.address, self.managed = o, address, managed
        self.base = os.path.join(o.folder, base)
        for folder in ("custom_nodes", "input", "output", "models", "user", "temp"):
            os.makedirs(os.path.join(self.base, folder))
        if not managed:
            shutil.copytree(PACK, self.path("custom_nodes", PACKED), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(os.path.join(ROOT, "tools", "clients", "comfyui_keep.py"), self.path("custom_nodes"))
        for folder in ("vae", "vae_approx", "diffusion_models", "checkpoints"):
            os.makedirs(self.path("models", folder))
        for name in (*NAMES, *OWN, "wan22_published"):
            os.symlink(os.path.join(o.models, filename(name)), self.path("models", "vae", filename(name)))
        tiny = load_file(os.path.join(o.models, "taesd.safetensors"))
        for half in ("taesd_encoder", "taesd_decoder"):  # ComfyUI calls the pair "taesd"
            save_file({name.removeprefix(half + "."): t for name, t in tiny.items() if name.startswith(half)}, self.path("models", "vae_approx", half + ".safetensors"))
        whole = {"first_stage_model." + name: t for name, t in load_file(os.path.join(o.models, "sdxl.safetensors")).items()}
        whole["model.diffusion_model.out.2.bias"] = numpy.zeros(4, numpy.float32)
        save_file(whole, self.path("models", "checkpoints", "whole.safetensors"))
        save_file({"model.diffusion_model.out.2.bias": numpy.zeros(4, numpy.float32)}, self.path("models", "checkpoints", "none.safetensors"))
        front = self.path("front")
        os.makedirs(front)
        open(os.path.join(front, "index.html"), "w").close()
        self.start()

    def start(self):
        """Begin with the engine of the installed wheel, and no other program or Dawn."""
        more, wheels = ["--enable-manager", "--enable-manager-legacy-ui"] if self.managed else [], os.path.join(ROOT, "build", "dist")
        self.port = free_port()
        self.begin(self.o, os.path.basename(self.base), [
            sys.executable, os.path.join(self.o.comfyui, "main.py"), "--cpu", "--listen", "127.0.0.1",
            "--port", str(self.port), "--base-directory", self.base, "--front-end-root", self.path("front"),
            "--disable-api-nodes", "--fp32-vae", "--disable-auto-launch", "--database-url", "sqlite:///:memory:", *more,
        ], TESSERA_SERVER=self.address, TESSERA_TOKEN=TOKEN, TESSERA_PROGRAM="", TESSERA_DAWN="", TESSERA_NO_TUNE="1",
            PIP_FIND_LINKS=wheels, UV_FIND_LINKS=wheels)
        self.wait(self.answers)
        self.nodes = self.get("/object_info")

    def restart(self):
        self.__exit__()
        self.start()

    def path(self, *names):
        return os.path.join(self.base, *names)

    def answers(self):
        try:
            return self.get("/system_stats")
        except OSError:
            return None

    def get(self, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {"Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        return json.loads(text) if text else {}

    def posted(self, path, text):
        """Post text, and return the status of the reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection.request("POST", path, text, {"Content-Type": "text/plain"})
        status = connection.getresponse().status
        connection.close()
        return status

    def run(self, prompt, during=None):
        """Run a workflow like ComfyUI's page, and return all its events. during is called with each."""
        me = uuid.uuid4().hex
        with connect(f"ws://127.0.0.1:{self.port}/ws?clientId={me}", max_size=None) as events:
            events.send(json.dumps({"type": "feature_flags", "data": {"supports_preview_metadata": True}}))
            while json.loads(events.recv(timeout=300))["type"] != "feature_flags":
                pass
            told = self.get("/prompt", {"prompt": prompt, "client_id": me})
            assert "prompt_id" in told, told
            seen = []
            while True:
                text = events.recv(timeout=300)
                event = preview(text) if isinstance(text, bytes) else json.loads(text)
                if event["data"].get("prompt_id") != told["prompt_id"]:
                    continue
                seen.append(event)
                if during:
                    during(event)
                if event["type"] in ("execution_success", "execution_error", "execution_interrupted"):
                    return seen

    def done(self, prompt):
        """Run a workflow that must succeed."""
        seen = self.run(prompt)
        assert seen[-1]["type"] == "execution_success", seen[-1]["data"].get("exception_message", seen[-1])
        return seen

    def fails(self, prompt):
        """The error message of a failed workflow."""
        last = self.run(prompt)[-1]
        assert last["type"] == "execution_error", last
        return last["data"]["exception_message"]

    def kept(self, prompt):
        """Run a workflow and return the numbers of its node "keep"."""
        return self.kept_and_seen(prompt)[0]

    def kept_and_seen(self, prompt):
        """Run a workflow and return these numbers, and its events."""
        name = prompt["keep"]["inputs"]["name"] = uuid.uuid4().hex + ".npy"
        seen = self.done(prompt)
        return numpy.load(self.path("output", name)), seen

    def kept_all(self, prompt):
        """Run a workflow and return every tensor that its node "keep" received."""
        name = prompt["keep"]["inputs"]["name"] = uuid.uuid4().hex + ".npz"
        self.done(prompt)
        with numpy.load(self.path("output", name)) as kept:
            return dict(kept)

    def put(self, numbers):
        """Store numbers, and return the node that loads them."""
        name = uuid.uuid4().hex + ".npy"
        numpy.save(self.path("input", name), numbers)
        return node("LoadNumbers", name=name)


def preview(message):
    """The event of a node's picture, which is not JSON: a kind, metadata and a JPEG."""
    kind, size = struct.unpack(">II", message[:8])
    assert kind == 4, f"a message of kind {kind}, expected a preview with metadata"
    return {"type": "preview", "data": {**json.loads(message[8 : 8 + size]), "jpeg": message[8 + size :]}}


def node(kind, **inputs):
    return {"class_type": kind, "inputs": inputs}


def settings(model, **more):
    return node("TesseraServer", **{"address": "", "model": model, "tile": "", "overlap": "", "tiling": "auto", **more})


def decoding(load, output, model, **more):
    return {"load": load, "server": settings(model),
            "decode": node("TesseraVAEDecode", samples=["load", output], server=["server", 0],
                           **{"frames": "auto", "latents": "comfyui", **more}),
            "keep": node("KeepNumbers", image=["decode", 0])}


def encoding(load, model, **more):
    return {"load": load, "server": settings(model),
            "encode": node("TesseraVAEEncode", pixels=["load", 0], server=["server", 0],
                           **{"frames": "auto", "latents": "comfyui", **more}),
            "keep": node("KeepNumbers", latent=["encode", 0])}


def latent(model, frames=2, height=4, width=6, batch=1):
    channels = 48 if model == "wan22" else 16
    return random.standard_normal((batch, channels, frames, height, width), dtype=numpy.float32)


def clip(model, frames=5, height=32, width=48):
    channels = 4 if model == "layered" else 3
    return random.random((frames, height, width, channels), dtype=numpy.float32)


def image(path):
    """Convert the command line's frames [C,T,H,W] in [-1,1] to ComfyUI's."""
    frames = numpy.load(path).transpose(1, 2, 3, 0)
    return numpy.clip((frames + numpy.float32(1)) / numpy.float32(2), 0, 1)


def decoded(server, model, z, *more):
    """Decode a latent with the command line, from a file like ComfyUI's SaveLatent's."""
    save_file({"latent_tensor": z, "latent_format_version_0": numpy.zeros(0, numpy.float32)}, os.path.join(server.o.folder, "in.latent"))
    server.run("decode", model, "in.latent", "-o", "out.npy", *more)
    return image(os.path.join(server.o.folder, "out.npy"))


def encoded(server, model, pixels, *more):
    """Encode frames with the command line, to a file for ComfyUI's LoadLatent."""
    x = (pixels * numpy.float32(2) - numpy.float32(1)).transpose(3, 0, 1, 2)
    numpy.save(os.path.join(server.o.folder, "in.npy"), numpy.ascontiguousarray(x))
    server.run("encode", model, "in.npy", "-o", "out.latent", *more)
    return load_file(os.path.join(server.o.folder, "out.latent"))["latent_tensor"]


def same(got, want, what):
    assert got.shape == want.shape, f"{what}: {got.shape}, expected {want.shape}"
    assert got.dtype == numpy.float32 and numpy.array_equal(got, want), f"{what}: {abs(got - want).max()} off"


def addresses(*_):
    """Valid addresses are accepted, and others refused with the reason."""
    c = client()
    for text, want in {
        "": "http://127.0.0.1:7878", "box:7878": "http://box:7878", "https://box": "https://box:443",
        "http://[::1]:7878/": "http://[::1]:7878", "https://box/vae/": "https://box:443/vae",
    }.items():
        assert c.Server(text).address == want, text
    for text, why in {"ftp://box": "expected one such as", "http://box:x": "can't be read", "http://a:secret@box": "TESSERA_TOKEN"}.items():
        assert why in failure(c, lambda: c.Server(text)) and "secret" not in failure(c, lambda: c.Server("http://a:secret@box"))


def failure(c, ask):
    try:
        ask()
    except c.TesseraError as err:
        return str(err)
    raise AssertionError("nothing failed")


def tokens(_, server):
    """A token goes only to the server in TESSERA_SERVER; errors distinguish a wrong token from a missing one."""
    c = client()
    os.environ.update(TESSERA_SERVER=server.address, TESSERA_TOKEN=TOKEN)
    assert [c.Server("", m).config()["name"] for m in NAMES] == NAMES
    assert "it has seedvr2, wan" in failure(c, c.Server("", "other").config)
    assert "asks for a token: start ComfyUI with" in failure(c, c.Server(server.address.replace("127.0.0.1", "localhost")).config)
    os.environ["TESSERA_TOKEN"] = "another-token-0123456"
    assert "does not know the token" in failure(c, c.Server().config)
    del os.environ["TESSERA_SERVER"], os.environ["TESSERA_TOKEN"]


def schemas(comfy, _):
    """The nodes exist, with the names in workflows."""
    for name in ("TesseraServer", "TesseraVAEDecode", "TesseraVAEEncode"):
        assert comfy.nodes[name]["category"] == "Tessera", name
    assert comfy.nodes["TesseraVAEDecode"]["output"] == ["IMAGE"]
    assert comfy.nodes["TesseraVAEEncode"]["output"] == ["LATENT"]


def decodes(comfy, server):
    """A LATENT of every model decodes to the command line's frames, and the progress bar reaches its end."""
    for model in SMALL:
        z = latent(model)
        save_file({"latent_tensor": z, "latent_format_version_0": numpy.zeros(0, numpy.float32)}, comfy.path("input", model + ".latent"))
        prompt = decoding(node("LoadLatent", latent=model + ".latent"), 0, model)
        same(comfy.kept(prompt), decoded(server, model, z), model)
    prompt["load"] = comfy.put(latent(model, frames=3))
    prompt["decode"]["inputs"]["samples"] = ["load", 1]
    bar = [e["data"] for e in comfy.done(prompt) if e["type"] == "progress"]
    assert bar and all(a["value"] <= b["value"] for a, b in zip(bar, bar[1:])) and bar[-1]["value"] == bar[-1]["max"], bar


def previews(comfy, server):
    """Before the first tile is decoded, the node previews the latent with a tiny model, frame by frame; the IMAGE
    is unchanged. The model has the published size, so its tiles take much longer than the preview."""
    z = latent("published", frames=2, height=8, width=14)
    prompt = decoding(comfy.put(z), 1, "published")
    prompt["server"] = settings("published", tile="64", overlap="16", tiling="feather")  # two tiles
    plain, seen = comfy.kept_and_seen(prompt)
    assert not any(e["type"] == "preview" for e in seen), "a preview without a request for one"
    prompt["decode"]["inputs"]["preview"] = "taew2_1"
    got, seen = comfy.kept_and_seen(prompt)
    same(got, plain, "an IMAGE after a preview")

    numpy.save(os.path.join(server.o.folder, "z.npy"), z[0])
    server.run("decode", "taew2_1", "z.npy", "--scale", "none", "-o", "tiny")
    frames = [jpeg(path) for path in sorted(glob.glob(os.path.join(server.o.folder, "tiny", "*.png")))]
    shown = [i for i, e in enumerate(seen) if e["type"] == "preview"]
    assert len(frames) == 5 and shown, f"{len(shown)} previews of {len(frames)} frames were shown"
    for k, i in enumerate(shown):
        assert seen[i]["data"]["node_id"] == "decode", seen[i]["data"]["node_id"]
        assert seen[i]["data"]["jpeg"] == frames[k % 5], f"picture {k} is not frame {k % 5} of the tiny model's decode"
    done = [(i, n["value"] / n["max"]) for i, e in enumerate(seen) if e["type"] == "progress_state" if (n := e["data"]["nodes"].get("decode"))]
    first = [share for i, share in done if i < shown[0]]
    assert max(first) < 1 / 2, f"a tile of two was decoded before the preview: {first}"
    assert any(0 < share < 1 for i, share in done if i > shown[0]), f"the preview came when all was decoded: {done}"


def jpeg(path):
    """A picture in the form that ComfyUI sends."""
    made = io.BytesIO()
    picture = ImageOps.contain(Image.open(path).convert("RGB"), (512, 512), Image.Resampling.BILINEAR)
    picture.save(made, format="JPEG", quality=95, compress_level=1)
    return made.getvalue()


def flat(comfy, server):
    """With models for pictures only, a LATENT has four dimensions, FLUX.2's with 2x2 cells packed into one; decode and encode."""
    for model, channels in FLAT.items():
        z = random.standard_normal((2, channels, 4, 6), dtype=numpy.float32)
        want = decoded(server, model, z)
        assert len(want) == 2, want.shape
        same(comfy.kept(decoding(comfy.put(z), 1, model)), want, model)
        pixels = clip(model, frames=2)
        got = comfy.kept(encoding(comfy.put(pixels), model))
        want = encoded(server, model, pixels)
        same(got, want.reshape(-1, *want.shape[-4:]).transpose(0, 2, 1, 3, 4).reshape(got.shape), model)
        assert got.shape[:2] == (2, channels) and got.ndim == 4, got.shape


def batches(comfy, server):
    """Each clip of a batch is decoded separately; normalized latents are those of a pipeline;
    without a server node, the model is the first one of the environment's server."""
    z = latent("wan", batch=2)
    got = comfy.kept(decoding(comfy.put(z), 1, "wan"))
    same(got, numpy.concatenate([decoded(server, "wan", z[:1]), decoded(server, "wan", z[1:])]), "a batch")
    numpy.save(os.path.join(server.o.folder, "z.npy"), z[0])
    for latents, scale in {"normalized": "pipeline", "raw": "none"}.items():
        server.run("decode", "seedvr2", "z.npy", "--scale", scale, "-o", "out.npy")
        prompt = decoding(comfy.put(z[:1]), 1, "seedvr2", latents=latents)
        del prompt["server"], prompt["decode"]["inputs"]["server"]
        same(comfy.kept(prompt), image(os.path.join(server.o.folder, "out.npy")), latents)


def encodes(comfy, server):
    """Frames of every model encode to the command line's latent; pictures are a batch, and opaque without alpha."""
    for model in SMALL:
        pixels = clip(model)
        want = encoded(server, model, pixels)
        if model in ("qwen", "layered"):
            want = want.transpose(2, 1, 0, 3, 4)
        same(comfy.kept(encoding(comfy.put(pixels), model)), want, model)
    opaque = clip("layered", frames=1)
    opaque[..., 3] = 1
    same(comfy.kept(encoding(comfy.put(opaque), "qwen")), encoded(server, "qwen", opaque[..., :3]), "alpha that is not taken")
    same(comfy.kept(encoding(comfy.put(opaque[..., :3]), "layered")), encoded(server, "layered", opaque), "no alpha")


def own(comfy, _):
    """ComfyUI's own nodes, with the same checkpoint, accept and produce the same IMAGE and LATENT."""
    for prompt, change in (
        (decoding(comfy.put(latent("published", height=2, width=3)), 1, "published"), node("VAEDecode", samples=["load", 1], vae=["vae", 0])),
        (encoding(comfy.put(clip("published", height=16, width=24)), "published"), node("VAEEncode", pixels=["load", 0], vae=["vae", 0])),
    ):
        got = comfy.kept(prompt)
        want = comfy.kept({**prompt, "vae": node("VAELoader", vae_name="published.safetensors"), "decode" if "decode" in prompt else "encode": change})
        assert got.shape == want.shape, f"{got.shape}, expected {want.shape}"
        off = ((got - want) ** 2).sum() / ((want - want.mean()) ** 2).sum()
        assert off < 1e-9, f"{change['class_type']}: NMSE {off}"


def load(name):
    return node("TesseraLoadVAE", vae_name=name if "/" in name else filename(name))


def vaes(comfy, server):
    """ComfyUI's own VAE Decode and VAE Encode, with a VAE whose engine starts automatically, produce the command
    line's numbers for every model; so does the VAE in a checkpoint of a whole model."""
    shown = comfy.nodes["TesseraLoadVAE"]["input"]["required"]["vae_name"][1]["options"]
    assert "published.safetensors" in shown and "checkpoints/whole.safetensors" in shown, shown
    assert "checkpoints/none.safetensors" not in shown, shown
    for model in (*SMALL, *FLAT, "checkpoints/whole.safetensors"):
        name = "sdxl" if "/" in model else model
        shape = (2, FLAT[name], 4, 6) if name in FLAT else latent(name).shape
        z, pixels = random.standard_normal(shape, dtype=numpy.float32), clip(name, frames=2 if name in FLAT else 5)
        pixels[..., 3:] = 1  # this node drops alpha
        vae = load(model)
        got = comfy.kept({"load": comfy.put(z), "vae": vae, "decode": node("VAEDecode", samples=["load", 1], vae=["vae", 0]),
                          "keep": node("KeepNumbers", image=["decode", 0])})
        more = ["--no-independent-frames"] if name in ("qwen", "layered") else []  # ComfyUI treats these as video
        same(got, decoded(server, name, z, *more), model)
        got = comfy.kept({"load": comfy.put(pixels), "vae": vae, "encode": node("VAEEncode", pixels=["load", 0], vae=["vae", 0]),
                          "keep": node("KeepNumbers", latent=["encode", 0])})
        want = encoded(server, name, pixels, *more)
        same(got, want.reshape(-1, *want.shape[-4:]).transpose(0, 2, 1, 3, 4).reshape(got.shape) if name in FLAT else want, model)


# ComfyUI's own nodes that take a VAE run with VAEs of sizes that it loads, and small
# pictures. Other inputs have a widget's default, or come from nodes of
# comfyui_keep.py.
TRACK = json.dumps([[{"x": 4 + i / 6, "y": 8} for i in range(121)]])
SIZES = {"width": 32, "height": 16, "length": 5, "video_frames": 2, "batch_size": 1, "frame_idx": 0, "filename_prefix": "own", "tracks": TRACK}
MODELS = {  # by the node's name or its module; else "sd"
    "Wan22ImageToVideoLatent": "wan22_published",
    **dict.fromkeys(["nodes_wan", "nodes_scail", "nodes_wanmove", "nodes_wandancer", "nodes_bernini", "nodes_kandinsky5", "nodes_cosmos", "nodes_hunyuan"], "video"),
    "nodes_qwen": "edit",
}
WIDE = {"video": "published", "edit": "taesd"}  # for ComfyUI 0.3.64, which loads no other width of Wan 2.1
NARROW = {"video": "wan", "edit": "qwen"}
BOTH = ["VAEDecode", "VAEEncode", "VAEDecodeTiled", "VAEEncodeTiled"]  # also with "video"
TILED = {"tile_size": 64, "overlap": 16, "temporal_size": 8, "temporal_overlap": 4}
INPUTS = {
    ("VAEDecodeTiled", "sd"): {"samples": (1, 4, 9, 8), **TILED},
    ("VAEDecodeTiled", "video"): {"samples": (1, 16, 3, 9, 8), **TILED},
    ("VAEEncodeTiled", "sd"): {"pixels": (1, 72, 64, 3), **TILED},
    ("VAEEncodeTiled", "video"): {"pixels": (9, 72, 64, 3), **TILED},
    ("VAEEncodeForInpaint", "sd"): {"pixels": (1, 21, 35, 3)},
    ("WanSoundImageToVideo", "video"): {"length": 9},
    ("WanSCAILToVideo", "video"): {"height": 32},
    ("Wan22ImageToVideoLatent", "wan22_published"): {"height": 32},
}
LEFT = {
    **dict.fromkeys(["LTXVAudioVAEDecode", "LTXVAudioVAEEncode", "LTXVEmptyLatentAudio", "VAEDecodeAudioTiled"], "of sound"),
    **dict.fromkeys(["TripoSplatConditioning", "VAEDecodeTripoSplat"], "of shapes"),
    **dict.fromkeys(["MiniMaxH3ImageToVideo", "MiniMaxH3ReferenceToVideo"], "of an unsupported family"),
    "VAESave": "see saved", "VAEEncodeAudio": "of sound", "VAEDecodeAudio": "of sound",
    "VAEDecodeHunyuan3D": "of shapes", "StableCascade_StageC_VAEEncode": "of an unsupported family",
    "StableCascade_SuperResolutionControlnet": "of an unsupported family", "LTXVAddGuide": "of LTX-2, which 0.3.64 can't load",
    "LTXVImgToVideo": "of LTX-2, which 0.3.64 can't load",
}
MADE = {"CONDITIONING": node("MakeWords", seed=1), "CONTROL_NET": node("MakeControl"), "CLIP": node("MakeClip"), "CLIP_VISION": node("MakeVision"),
        "MASK": node("MakeMask", like=["picture", 0])}


def core(comfy, _):
    """Each of ComfyUI's nodes that takes a VAE and no diffusion model has the same result with ours as with
    ComfyUI's VAE from the same file."""
    version = comfy.get("/system_stats")["system"]["comfyui_version"]
    print(f"comfyui: core: ComfyUI {version}")
    files, failed = WIDE if version == "0.3.64" else NARROW, []
    for name, kind in sorted(comfy.nodes.items()):
        inputs = {**kind["input"].get("required", {}), **kind["input"].get("optional", {})}
        kinds = [spec[0] for spec in inputs.values()]
        if "VAE" not in kinds or "MODEL" in kinds or kind["python_module"].startswith("custom_nodes") or name in LEFT:
            continue
        if comfy.o.nodes and name not in comfy.o.nodes:
            continue
        own = MODELS.get(name) or MODELS.get(kind["python_module"].removeprefix("comfy_extras."), "sd")
        for role in [own, "video"] if name in BOTH else [own]:
            model = files.get(role, role)
            prompt = one(comfy, name, inputs, role, len(kind["output"]))
            try:
                want = comfy.kept_all({**prompt, "vae": node("VAELoader", vae_name="taesd" if model == "taesd" else filename(model))})
                got = comfy.kept_all({**prompt, "vae": load(model)})
                assert got.keys() == want.keys() and any(w.ndim >= 4 for w in want.values()), f"{sorted(got)}, expected {sorted(want)}"
                off = max(nmse(got[key], want[key], key) for key in want)
                said = f"NMSE {off:.1e}"
                assert off <= 1e-9, said
            except AssertionError as err:
                said = f"{err}"
                failed.append(f"{name}, {model}: {said}")
            print(f"comfyui: core: {name}, {model}: {said}", flush=True)
    assert not failed, "\n".join(failed)


def nmse(got, want, what):
    assert got.shape == want.shape, f"{what}: {got.shape}, expected {want.shape}"
    if got.size == 0 or numpy.array_equal(got, want):
        return 0
    return ((got - want).astype(float) ** 2).sum() / max(((want - want.mean()).astype(float) ** 2).sum(), 1e-30)


def one(comfy, name, inputs, role, outputs):
    """A workflow of one of ComfyUI's own nodes."""
    given, prompt = INPUTS.get((name, role), {}), {"picture": picture(comfy, (1, 16, 32, 3))}
    channels = 16 if role == "video" else 4
    run = prompt["node"] = node(name, vae=["vae", 0])
    for key, spec in inputs.items():
        shape = given.get(key)
        if spec[0] == "IMAGE":
            prompt[key] = picture(comfy, shape or (5 if "video" in key or role == "video" and key == "pixels" else 1, 16, 32, 3))
            run["inputs"][key] = [key, 0]
        elif spec[0] == "LATENT":
            prompt[key] = picture(comfy, shape or ((1, channels, 2, 2, 3) if channels > 4 else (2, channels, 2, 3)))
            run["inputs"][key] = [key, 1]
        elif not isinstance(spec[0], list) and spec[0] in MADE:
            prompt[key], run["inputs"][key] = MADE[spec[0]], [key, 0]
            if key == "mask" and "pixels" in inputs:
                prompt[key] = node("MakeMask", like=["pixels", 0])
        elif key in given or key in SIZES and spec[0] != "TRACKS":
            run["inputs"][key] = given.get(key, SIZES.get(key))
        elif isinstance(spec[0], list) or spec[0] == "COMBO":
            run["inputs"][key] = spec[0][0] if isinstance(spec[0], list) else spec[1]["options"][0]
        elif spec[0] in ("INT", "FLOAT", "STRING", "BOOLEAN"):
            run["inputs"][key] = spec[1].get("default", "") if len(spec) > 1 else ""
    prompt["keep"] = node("KeepAll", **{"abcdefgh"[i]: ["node", i] for i in range(outputs)})
    return prompt


def picture(comfy, shape):
    return comfy.put(random.random(shape, dtype=numpy.float32))


def saved(comfy, _):
    """VAESave writes the tensors of the file; for a checkpoint, those of its VAE."""
    for name in ("sdxl", "checkpoints/whole.safetensors"):
        comfy.done({"vae": load(name), "save": node("VAESave", vae=["vae", 0], filename_prefix="vae/saved")})
        path = max(glob.glob(comfy.path("output", "vae", "saved*")), key=os.path.getmtime)
        got, want = load_file(path), load_file(os.path.join(comfy.o.models, "sdxl.safetensors"))
        assert got.keys() == want.keys() and all(numpy.array_equal(got[key], want[key]) for key in want)


def engines(comfy):
    """The process ids of engines started by this ComfyUI."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(path, "rb") as f:
            words = f.read().split(b"\0")
            if words[0] == PROGRAM.encode() and b"serve" in words and any(comfy.base.encode() in w for w in words):
                found.append(int(path.split("/")[2]))
    return found


def until(done, what):
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def freed(comfy, server):
    """All nodes share one engine. It ends when ComfyUI frees its memory; the next use starts it again, also after a kill."""
    z = latent("wan")
    prompt = {"load": comfy.put(z), "vae": load("wan"), "other": load("seedvr2"),
              "decode": node("VAEDecode", samples=["load", 1], vae=["vae", 0]), "keep": node("KeepNumbers", image=["decode", 0]),
              "more": node("VAEDecode", samples=["load", 1], vae=["other", 0]), "show": node("PreviewImage", images=["more", 0])}
    same(comfy.kept(prompt), want := decoded(server, "wan", z), "first")
    assert len(engines(comfy)) == 1, engines(comfy)
    comfy.get("/free", {"unload_models": True})
    until(lambda: not engines(comfy), "an engine runs after ComfyUI freed its memory")

    def again():
        prompt["decode"]["_meta"] = prompt["load"] = comfy.put(z)  # another name, so that ComfyUI runs it again
        return comfy.kept(prompt)

    same(again(), want, "after it was freed")
    for pid in engines(comfy):
        os.kill(pid, 9)
    same(again(), want, "after it was killed")
    with open(comfy.path("models", "vae", "broken.safetensors"), "wb") as f:
        f.write(b"no checkpoint")
    told = comfy.fails({**prompt, "vae": load("broken")})
    assert "broken.safetensors" in told, told
    same(again(), want, "after a file that can't be read")
    assert len(engines(comfy)) == 1, engines(comfy)


def killed(comfy, server):
    """The wheel's engine starts when it is first used, and ends with ComfyUI, even if ComfyUI is killed."""
    for end in ("terminate", "kill"):
        with Comfy(server.o, server.address, end) as other:
            assert not engines(other), "an engine runs before a node uses it"
            z = latent("wan")
            same(other.kept(vae_decode(other, z)), decoded(server, "wan", z), end)
            assert len(engines(other)) == 1, engines(other)
            getattr(other.process, end)()
            until(lambda: not engines(other), f"an engine runs after {end} of ComfyUI")


def vae_decode(comfy, z):
    """A workflow of Load VAE (Tessera) and ComfyUI's VAE Decode."""
    return {"load": comfy.put(z), "vae": load("wan"), "decode": node("VAEDecode", samples=["load", 1], vae=["vae", 0]),
            "keep": node("KeepNumbers", image=["decode", 0])}


def manager(comfy, server):
    """ComfyUI Manager installs the pack from a git repository, and with it the wheel. It refuses until its
    config.ini allows addresses. After a restart Load VAE (Tessera) decodes."""
    if not os.path.exists(os.path.join(server.o.comfyui, "manager_requirements.txt")):
        print("comfyui: manager: this ComfyUI is older than Manager's package")
        return
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "uninstall", "-q", "-y", "tessera-vae"], check=True)
    with repository(server.o.folder) as address, Comfy(server.o, server.address, "managed", managed=True) as other:
        assert other.posted("/v2/customnode/install/git_url", address) == 403
        with open(other.path("user", "__manager", "config.ini"), "w") as f:
            f.write("[default]\nallow_git_url_install = true\n")
        other.restart()
        assert "TesseraLoadVAE" not in other.nodes
        assert other.posted("/v2/customnode/install/git_url", address) == 200 and os.path.isfile(PROGRAM), other.text()[-4000:]
        other.restart()
        z = latent("wan")
        same(other.kept(vae_decode(other, z)), decoded(server, "wan", z), "installed by ComfyUI Manager")


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def repository(folder):
    """Serve the pack as a git repository, and return its address."""
    work, bare = os.path.join(folder, "pack"), os.path.join(folder, "git", PACKED + ".git")
    shutil.copytree(PACK, work, ignore=shutil.ignore_patterns("__pycache__"))
    git = ["git", "-C", work, "-c", "user.name=test", "-c", "user.email=test@example.com"]
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "pack"], ["clone", "-q", "--bare", ".", bare]):
        subprocess.run([*git, *command], check=True)
    subprocess.run(["git", "-C", bare, "update-server-info"], check=True)
    handler = functools.partial(Quiet, directory=os.path.dirname(bare))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as s:
        threading.Thread(target=s.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{s.server_port}/{PACKED}.git"
        s.shutdown()


def pictures(comfy, server):
    """A batch of Qwen-Image's latents is pictures, also where they have no frames; their PNGs are within
    one step of the command line's, since ComfyUI cuts off where others round."""
    z = latent("qwen", frames=1, batch=3)
    want = decoded(server, "qwen", z.transpose(2, 1, 0, 3, 4).copy())
    same(comfy.kept(decoding(comfy.put(z), 1, "qwen")), want, "five dimensions")
    prompt = decoding(comfy.put(z[:, :, 0]), 1, "qwen")
    same(comfy.kept(prompt), want, "four dimensions")
    prompt["save"] = node("SaveImage", images=["decode", 0], filename_prefix="picture")
    comfy.done(prompt)
    server.run("decode", "qwen", "in.latent", "-o", "png")
    ours = sorted(glob.glob(os.path.join(server.o.folder, "png", "*.png")))
    theirs = sorted(glob.glob(comfy.path("output", "picture*.png")))
    assert len(ours) == len(theirs) == 3
    for a, b in zip(ours, theirs):
        off = numpy.asarray(Image.open(a).convert("RGB"), int) - numpy.asarray(Image.open(b), int)
        assert abs(off).max() <= 1, off


def sizes(comfy, server):
    """A clip of any size comes back in its own."""
    for model in ("seedvr2", "wan22", "qwen", "sdxl", "flux2_vae"):
        pixels = clip(model, frames=6, height=30, width=41)
        encoded(server, model, pixels)
        server.run("decode", model, "out.latent", "-o", "out.npy")
        prompt = {**decoding(None, 0, model), **encoding(comfy.put(pixels), model)}
        prompt["decode"]["inputs"]["samples"] = ["encode", 0]
        prompt["keep"]["inputs"] = {"image": ["decode", 0]}
        same(comfy.kept(prompt), image(os.path.join(server.o.folder, "out.npy")), model)


def workflows(comfy, server):
    """Each example workflow is of nodes, inputs and outputs that are there, and runs; text to video with a small
    model that has learned nothing, made-up words and fewer pixels and steps."""
    found = sorted(glob.glob(os.path.join(PACK, "example_workflows", "*.json")))
    names = [os.path.basename(path).removesuffix(".json") for path in found]
    assert sorted(comfy.get("/api/workflow_templates")[PACKED]) == names != []
    Image.fromarray((clip("qwen", 1)[0] * 255).astype(numpy.uint8)).save(comfy.path("input", "example.png"))
    shutil.copy(comfy.path("input", "wan.latent"), comfy.path("input", "video.latent"))
    for path in found:
        with open(path) as f:
            prompt = asked(comfy, json.load(f))
        for n in prompt.values():
            if n["class_type"] == "TesseraServer":
                n["inputs"]["model"] = "wan"
            if n["class_type"] == "TesseraLoadVAE":
                n["inputs"]["vae_name"] = filename("wan")
        if any(n["class_type"] == "UNETLoader" for n in prompt.values()):
            text_to_video(comfy, server, prompt)
        comfy.done(prompt)
        for video in glob.glob(comfy.path("output", "video", "tessera*.mp4")):
            shutil.copy(video, comfy.path("input", "clip.mp4"))


def text_to_video(comfy, server, prompt):
    """Makes a workflow one that runs here, and holds its frames against the command line's of the latent it samples."""
    of = {n["class_type"]: key for key, n in prompt.items()}
    backbone(comfy.path("models", "diffusion_models", prompt[of["UNETLoader"]]["inputs"]["unet_name"]))
    for n in prompt.values():
        if n["class_type"] == "CLIPTextEncode":
            n.update(node("MakeWords", seed=len(n["inputs"]["text"])))
    del prompt[of["CLIPLoader"]]
    prompt[of["EmptyHunyuanLatentVideo"]]["inputs"].update(width=48, height=32, length=5)
    prompt[of["KSampler"]]["inputs"].update(steps=2)
    z = comfy.kept({**prompt, "keep": node("KeepNumbers", latent=[of["KSampler"], 0])})
    assert z.shape == (1, 16, 2, 4, 6) and z.std() > 0.1, z
    got = comfy.kept({**prompt, "keep": node("KeepNumbers", image=[of["VAEDecode"], 0])})
    same(got, decoded(server, "wan", z), "text to video")


def backbone(path, dim=128, wide=256):
    """A Wan 2.1 for text to video of one small block, with numbers that were never trained."""
    shapes = {"patch_embedding": (dim, 16, 1, 2, 2), "text_embedding.0": (dim, 4096), "text_embedding.2": (dim, dim),
              "time_embedding.0": (dim, 256), "time_embedding.2": (dim, dim), "time_projection.1": (6 * dim, dim), "head.head": (64, dim),
              "blocks.0.ffn.0": (wide, dim), "blocks.0.ffn.2": (dim, wide), "blocks.0.norm3": (dim,)}
    for kind in ("self_attn", "cross_attn"):
        shapes.update({f"blocks.0.{kind}.{name}": (dim, dim) for name in "qkvo"})
    numbers = {}
    for name, shape in shapes.items():
        numbers[name + ".weight"] = random.standard_normal(shape, dtype=numpy.float32) / numpy.float32(numpy.prod(shape[1:]) ** 0.5)
        numbers[name + ".bias"] = numpy.zeros(shape[0], numpy.float32)
    for name in ("self_attn.norm_q", "self_attn.norm_k", "cross_attn.norm_q", "cross_attn.norm_k"):
        numbers[f"blocks.0.{name}.weight"] = numpy.ones(dim, numpy.float32)
    for name, count in {"blocks.0.modulation": 6, "head.modulation": 2}.items():
        numbers[name] = random.standard_normal((1, count, dim), dtype=numpy.float32)
    save_file(numbers, path)


def asked(comfy, workflow):
    """The prompt of a workflow as the page saves it."""
    links = {l[0]: l for l in workflow["links"]}
    ids = [n["id"] for n in workflow["nodes"]]
    assert len(set(ids)) == len(ids)
    prompt = {}
    for n in workflow["nodes"]:
        if n["type"] in ("Note", "MarkdownNote"):
            continue
        kind = comfy.nodes[n["type"]]
        optional = kind["input"].get("optional", {})
        inputs = {**kind["input"].get("required", {}), **optional}
        values, given = list(n["widgets_values"]) if n.get("widgets_values") else [], {}
        for name, spec in inputs.items():
            spec = spec if isinstance(spec[-1], dict) else [*spec, {}]
            if isinstance(spec[0], list) or spec[0] in ("STRING", "INT", "FLOAT", "BOOLEAN", "COMBO", "COMFY_DYNAMICCOMBO_V3"):
                if not values and name in optional:
                    continue  # from a later ComfyUI than the workflow
                given[name] = values.pop(0)
                if any(on and (key.endswith("_upload") or key == "control_after_generate") for key, on in spec[-1].items()):
                    values.pop(0)  # the widget below it
        assert not values, f"{n['type']}: {values} are no widget's"
        for i in n.get("inputs", []):
            if i.get("link") is not None:
                _, source, slot, target, _, kind_of = links[i["link"]]
                assert target == n["id"] and i["name"] in inputs, i
                origin = workflow["nodes"][ids.index(source)]
                assert comfy.nodes[origin["type"]]["output"][slot] == kind_of == i["type"], i
                given[i["name"]] = [str(source), slot]
        prompt[str(n["id"])] = node(n["type"], **given)
    return prompt


def wrong(comfy, server):
    """What can't be says why: no server, no tessera, another model's latent, an unknown model."""
    z = comfy.put(latent("wan"))

    def told(prompt, **change):
        prompt["server"]["inputs"].update(change)
        prompt["keep"]["inputs"]["name"] = "never"
        return comfy.fails(prompt)

    why = told(decoding(z, 1, "wan"), address=f"127.0.0.1:{free_port()}")
    assert "no tessera server answers at http://127.0.0.1:" in why and "tessera serve -m CHECKPOINT" in why, why
    why = told(decoding(z, 1, ""), address=f"127.0.0.1:{comfy.port}")
    assert "expected a tessera server" in why, why
    assert "the latent is [1, 16, 2, 4, 6], expected [B,48,T,h,w]" in told(decoding(z, 1, "wan22"))
    assert "has no model 'other', it has seedvr2, wan, wan22, qwen, layered, published" in told(decoding(z, 1, "other"))
    why = told(decoding(z, 1, "wan"), tile="huge")
    assert "huge" in why, why
    why = told(decoding(z, 1, "wan"), address=server.address.replace("127.0.0.1", "localhost"))
    assert "asks for a token" in why, why
    told = comfy.get("/prompt", {"prompt": {**decoding(z, 1, "wan"), "server": settings("wan", address="http://a:secret@box")}})
    assert "TESSERA_TOKEN" in json.dumps(told), told


def cancel(comfy, server):
    """Cancelling ends the job on the server, which has forgotten all the others."""
    prompt = decoding(comfy.put(latent("seedvr2", frames=60, height=32, width=32)), 1, "seedvr2")
    prompt["keep"]["inputs"]["name"] = "never"
    asked = []

    def stop(event):
        if event["type"] == "progress" and event["data"]["value"] > 0 and not asked:
            asked.append(time.monotonic())
            threading.Thread(target=comfy.get, args=("/interrupt", {})).start()

    last = comfy.run(prompt, stop)[-1]
    took = time.monotonic() - asked[0]
    assert last["type"] == "execution_interrupted", last
    assert took < 5, f"cancelling took {took:.1f} s"
    until = time.monotonic() + 20
    while server.states() != ["cancelled"]:
        assert time.monotonic() < until, server.states()
        time.sleep(0.2)


class Cancelled(Exception):
    """What a wait raises that is to end its job."""


def busy(_, server):
    """Where a server's queue is full, a node waits until it isn't, and can be cancelled meanwhile."""
    c = client()
    with Tessera(server.o, "full", "--queue", "1") as full:
        os.environ.update(TESSERA_SERVER=full.address, TESSERA_TOKEN=TOKEN)
        begun, waited = threading.Event(), []

        def job(name, frames, side, wait):
            z = latent(name, frames, side, side)
            query = {"dtype": "float32", "kind": "decode", "output": "f32", "shape": ",".join(map(str, z.shape))}
            with contextlib.suppress(Cancelled), c.Server("", name).job(query, z, wait) as (state, reply):
                return len(reply.read()) == state["bytes"]

        def long(_):
            begun.set()
            if len(waited) > 3:
                raise Cancelled

        def cancelled(_):
            waited.append(None)
            raise Cancelled

        other = threading.Thread(target=job, args=("seedvr2", 60, 32, long))
        other.start()
        assert begun.wait(60)
        assert job("wan", 1, 4, cancelled) is None and waited
        assert job("wan", 1, 4, waited.append), "not done"
        assert len(waited) > 3, "nothing was busy"
        other.join()
        del os.environ["TESSERA_SERVER"], os.environ["TESSERA_TOKEN"]


if __name__ == "__main__":
    main()
