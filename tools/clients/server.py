"""Tests a real tessera serve with curl, with diffusers' own remote_decode and
remote_encode, and with integrations/python: every result must equal the command
line's, bit for bit.

tools/clients.sh curl, diffusers and python install its requirements and run it:

    python tools/clients/server.py --tessera FILE --models DIR --folder DIR PART
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import numpy
import torch
from PIL import Image
from safetensors.numpy import load_file, save_file

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "integrations", "python", "src"))
MODELS = {"seedvr2": "seedvr2", "wan": "wan", "wan22": "wan22", "qwen": "qwen_image_vae"}
TINY = "taew2_1"  # for Wan's previews
PICTURES = ["sdxl", "flux2_vae"]  # models for pictures only
CHANNELS = {"wan22": 48, "sdxl": 4, "flux2_vae": 128}
COMMON = ["--precision", "f32", "--no-tune"]
random = numpy.random.default_rng(7)


class CommandLine:
    """The command line, with its files in a folder."""

    def __init__(self, o):
        self.o, self.count = o, 0

    def model(self, name):
        return os.path.join(self.o.models, MODELS.get(name, name) + ".safetensors")

    def run(self, command, name, *arguments):
        command = [self.o.tessera, command, "-m", self.model(name), *COMMON, "-q", *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"

    def path(self, ending):
        self.count += 1
        return os.path.join(self.o.folder, f"{self.count:03}{ending}")

    def decode(self, name, z, scale="pipeline"):
        """Decode a latent [1,C,T,h,w] to floats [T,H,W,C]."""
        source, out = self.path(".safetensors"), self.path(".npy")
        save_file({"latent": z[0]}, source)
        self.run("decode", name, "--scale", scale, source, "-o", out)
        return numpy.ascontiguousarray(numpy.load(out).transpose(1, 2, 3, 0))

    def pictures(self, name, z):
        """Decode a pipeline's latent to 8-bit pixels [T,H,W,3]."""
        source, out = self.path(".safetensors"), self.path("")
        save_file({"latent": z[0]}, source)
        self.run("decode", name, "--scale", "pipeline", source, "-o", out)
        return numpy.stack([numpy.asarray(Image.open(os.path.join(out, f)).convert("RGB")) for f in sorted(os.listdir(out)) if f.endswith(".png")])

    def encode(self, name, frames, *more):
        """Encode 8-bit frames [T,H,W,3]."""
        folder, out = self.path(""), self.path(".safetensors")
        os.makedirs(folder)
        for i, f in enumerate(frames):
            Image.fromarray(f).save(os.path.join(folder, f"frame_{i:04}.png"))
        self.run("encode", name, *more, folder, "-o", out)
        return load_file(out)["latent"]


def latent(name, frames=2, h=2, w=3):
    return random.standard_normal((1, CHANNELS.get(name, 16), frames, h, w), numpy.float32)


def pixels(frames=5, h=32, w=48):
    return random.integers(0, 256, (frames, h, w, 3), numpy.uint8)


def same(got, want, what):
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    assert got.tobytes() == want.tobytes(), f"{what}: other numbers, by {abs(got.astype(float) - want).max()} at most"


def video(frames):
    """Convert [T,H,W,C] to [1,C,T,H,W]."""
    return numpy.ascontiguousarray(frames.transpose(3, 0, 1, 2)[None])


def served(o, line):
    """Run a tessera serve with all models, and yield its address."""
    models = [a for name in (*MODELS, TINY, *PICTURES) for a in ("-m", f"{name}={line.model(name)}")]
    log = open(os.path.join(o.folder, "serve.log"), "w")
    command = [o.tessera, "serve", "--json", "--listen", "127.0.0.1:0", *models, *COMMON, "--jobs", os.path.join(o.folder, "jobs")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
    told = b""
    while not told.endswith(b"}\n"):
        line = process.stdout.readline()
        assert line, open(log.name).read()
        told += line
    told = json.loads(told)
    assert "url" in told, f"serve: {told['error']}"
    return process, told["url"].partition("/#")[0]


def curl(line, address):
    """Tensors and jobs, with curl."""

    def ask(*arguments):
        done = subprocess.run(["curl", "-sS", "--fail-with-body", *arguments], capture_output=True)
        assert done.returncode == 0, f"curl {arguments}: {done.stderr.decode()} {done.stdout[:500]}"
        return done.stdout

    for name in MODELS:
        z = latent(name)
        shape = ",".join(str(n) for n in z.shape)
        body = line.path(".bin")
        z.tofile(body)
        want = line.decode(name, z)
        query = f"model={name}&dtype=float32&shape={shape}"
        got = ask("--data-binary", "@" + body, f"{address}/v1/decode?{query}&output_type=pt&do_scaling=true")
        same(numpy.frombuffer(got, numpy.float32), video(want).reshape(-1), f"{name}, decode")
        job = json.loads(ask("--data-binary", "@" + body, f"{address}/v1/jobs?{query}&output=f32&scale=pipeline"))["id"]
        got = ask(f"{address}/v1/jobs/{job}/content")
        same(numpy.frombuffer(got, numpy.float32), want.reshape(-1), f"{name}, job")
        frames = pixels()
        video(frames).tofile(body)
        got = ask("--data-binary", "@" + body, f"{address}/v1/encode?model={name}&dtype=uint8&shape=1,3,5,32,48&do_scaling=true")
        want = line.encode(name, frames, "--scale", "pipeline")
        same(numpy.frombuffer(got, numpy.float32), want.reshape(-1), f"{name}, encode")


def diffusers(line, address):
    """diffusers' own functions, unchanged."""
    from diffusers.image_processor import VaeImageProcessor
    from diffusers.utils.remote_utils import remote_decode, remote_encode
    from diffusers.video_processor import VideoProcessor

    for name in MODELS:
        url = f"{address}/v1/decode?model={name}"
        z = latent(name)
        t = torch.from_numpy(z)
        want = line.decode(name, z)
        same(remote_decode(url, t, output_type="pt", return_type="pt"), video(want), f"{name}, pt")
        codes = line.pictures(name, z)
        got = remote_decode(url, t, output_type="pt", return_type="pil", partial_postprocess=True)
        same(numpy.stack(got), codes, f"{name}, 8-bit pixels")
        got = remote_decode(url, t, output_type="pt", return_type="pil", processor=VideoProcessor())
        assert abs(numpy.stack([numpy.asarray(f) for f in got]).astype(int) - codes).max() <= 1, f"{name}, by a processor"
        got = remote_decode(url, t, output_type="mp4", return_type="mp4")
        assert got[4:8] == b"ftyp", f"{name}, mp4"
        one = latent(name, frames=1)
        got = remote_decode(url, torch.from_numpy(one[:, :, 0]), output_type="pil", image_format="png")
        same(got, line.pictures(name, one)[0], f"{name}, a picture as PNG")
        got = remote_decode(url, torch.from_numpy(one[:, :, 0]), output_type="pt", return_type="pil", processor=VaeImageProcessor())
        assert abs(numpy.asarray(got).astype(int) - line.pictures(name, one)[0]).max() <= 1, f"{name}, a picture by a processor"
        frame = pixels(frames=1)
        want = line.encode(name, frame, "--scale", "pipeline")
        got = remote_encode(f"{address}/v1/encode?model={name}&do_scaling=true", Image.fromarray(frame[0]))
        same(got, want[None], f"{name}, encode of a picture")
        frames = pixels()
        want = line.encode(name, frames, "--scale", "none")
        got = remote_encode(f"{address}/v1/encode?model={name}", torch.from_numpy(video(frames) / numpy.float32(127.5) - 1))
        same(got, want[None], f"{name}, encode")


def python(line, address):
    """The package tessera-vae: with a server, with the program, and in a pipeline."""
    import tessera_vae

    for name in MODELS:
        vae = tessera_vae.Server(address, model=name)
        client(line, name, vae)
    batches(line, address)
    previews(line, address)
    refused(address)
    program(line)
    pipeline(line, address)
    clip_pipelines(line, address)
    picture_pipelines(line, address)
    sdxl_pipeline(line, address)
    flux2_latents(line, address)


def client(line, name, vae):
    z = latent(name)
    want = line.decode(name, z)
    same(vae.decode(z), video(want), f"{name}, decode")
    got = vae.decode(torch.from_numpy(z))
    assert isinstance(got, torch.Tensor)
    same(got, video(want), f"{name}, decode of a tensor")
    same(vae.decode(z, scale="none"), video(line.decode(name, z, "none")), f"{name}, unscaled")
    same(numpy.stack(list(vae.frames(z, dtype="float32"))), want, f"{name}, frames of floats")
    same(numpy.stack(list(vae.frames(torch.from_numpy(z)))), line.pictures(name, z), f"{name}, frames")
    frames = pixels()
    want = line.encode(name, frames, "--scale", "pipeline")[None]
    same(vae.encode(video(frames)), want, f"{name}, encode")
    same(vae.encode(torch.from_numpy(video(frames))), want, f"{name}, encode of a tensor")
    want = line.encode(name, frames, "--scale", "pipeline", "--sample", "--seed", "5")[None]
    same(vae.encode(video(frames), sample=True, seed=5), want, f"{name}, a sample")
    want = line.encode(name, frames, "--moments")[None]
    same(vae.encode(video(frames), moments=True), want, f"{name}, moments")


def batches(line, address):
    """Batches, pictures and float16."""
    import tessera_vae

    vae = tessera_vae.Server(address, model="wan")
    both = [latent("wan"), latent("wan")]
    want = numpy.concatenate([video(line.decode("wan", z)) for z in both])
    same(vae.decode(numpy.concatenate(both)), want, "a batch")
    got = numpy.stack(list(vae.frames(numpy.concatenate(both), dtype="float32")))
    same(got, want.transpose(0, 2, 3, 4, 1).reshape(got.shape), "a batch's frames")
    seedvr2, z = tessera_vae.Server(address, model="seedvr2"), latent("seedvr2")
    folded = z.reshape(1, 32, *z.shape[3:])
    same(seedvr2.decode(folded), video(line.decode("seedvr2", z)), "frames among the channels")
    same(numpy.stack(list(seedvr2.frames(folded))), line.pictures("seedvr2", z), "frames among the channels, one by one")
    picture = latent("wan", frames=1)
    want = video(line.decode("wan", picture))
    same(vae.decode(picture[:, :, 0]), want[:, :, 0], "a picture")
    for dtype in (torch.bfloat16, torch.float16):
        z = torch.from_numpy(both[0]).to(dtype)
        want = torch.from_numpy(video(line.decode("wan", z.float().numpy()))).to(dtype)
        got = vae.decode(z)
        assert got.dtype == dtype
        assert torch.equal(got, want), dtype
    big = both[0].astype(">f4")
    same(vae.decode(big), vae.decode(both[0]), "big-endian numbers")
    turned = numpy.ascontiguousarray(both[0].transpose(4, 3, 2, 1, 0)).transpose(4, 3, 2, 1, 0)
    same(vae.decode(turned), vae.decode(both[0]), "numbers in another order")


def previews(line, address):
    """A tiny model previews a clip before the clip's first frame."""
    import tessera_vae

    vae, z, seen = tessera_vae.Server(address, model="wan"), latent("wan"), []
    for frame in vae.frames(z, preview=TINY, show=seen.append):
        seen.append(frame)
    same(seen[0], line.pictures(TINY, z), "a preview")
    same(numpy.stack(seen[1:]), line.pictures("wan", z), "frames after a preview")


def refused(address):
    """Errors say what is wrong; leaving early leaves no job."""
    import tessera_vae

    def fails(what, *words, kind=tessera_vae.TesseraError):
        try:
            what()
        except kind as err:
            assert all(w in str(err) for w in words), f"{err} lacks one of {words}"
            return
        raise AssertionError(f"expected an error with {words}")

    vae = tessera_vae.Server(address, model="wan")
    fails(lambda: vae.decode(numpy.zeros((1, 3, 1, 2, 2), numpy.float32)), "shape")
    fails(lambda: vae.decode(numpy.zeros((1, 3, 1, 2048, 2048), numpy.float32)), "shape")  # before all of it is sent
    fails(lambda: vae.decode(numpy.zeros((1, 16, 1, 2, 2))), "float64", "float32", kind=TypeError)
    fails(lambda: vae.decode([1.0]), "list", kind=TypeError)
    fails(lambda: vae.decode(numpy.full((1, 16, 1, 2, 2), numpy.nan, numpy.float32)), "NaN")
    fails(lambda: vae.encode(numpy.zeros((1, 3, 1, 16, 16), numpy.uint8), seed=1), "seed")
    fails(lambda: vae.decode(latent("wan").reshape(1, 32, 2, 3)), "[1 32 2 3]")
    unit = random.random((1, 3, 1, 16, 16), numpy.float32)
    unit[..., 0] = numpy.arange(16) / 15
    fails(lambda: vae.encode(unit * 255), "numbers from 0 to 255")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        vae.encode(unit - 1)  # dark
        vae.encode(unit)
    assert len(told) == 1 and "look like pixels in [0,1]" in str(told[0].message), told
    fails(lambda: tessera_vae.Server(address).config, "wan22")
    fails(lambda: tessera_vae.Server(address, model="no").decode(latent("wan")), "no")
    fails(lambda: tessera_vae.Server("http://127.0.0.1:9").models(), "tessera serve")
    fails(lambda: tessera_vae.Server("ftp://x"), "address", kind=ValueError)
    fails(lambda: tessera_vae.Program("no.safetensors", program=vae_program), "no.safetensors")
    fails(lambda: tessera_vae.Program("no.safetensors", program="/no/program"), "did not start", "exit code 1", "/no/program")
    fails(lambda: tessera_vae.Program("no.safetensors", program="/bin/false"), "did not start", "exit code 1")
    frames = vae.frames(latent("wan", frames=200))
    next(frames)
    begun = time.monotonic()
    frames.close()
    assert vae.decode(latent("wan")).shape == (1, 3, 5, 16, 24)
    print(f"python: a job of 797 frames ends within {time.monotonic() - begun:.1f} s")


def program(line):
    """The program, which ends with the process that started it."""
    import tessera_vae

    global vae_program
    z = latent("wan")
    want = video(line.decode("wan", z))
    with tessera_vae.Program(line.model("wan"), program=line.o.tessera, arguments=COMMON) as vae:
        same(vae.decode(z), want, "the program")
        address = vae.address
    try:
        tessera_vae.Server(address).models()
        raise AssertionError("the program is still there")
    except tessera_vae.TesseraError:
        pass
    killed(line, z)
    code = "import sys, time, tessera_vae; v = tessera_vae.Program(sys.argv[1], program=sys.argv[2]); print(v.address, flush=True); time.sleep(600)"
    env = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "integrations", "python", "src")}
    child = subprocess.Popen([sys.executable, "-c", code, line.model("wan"), line.o.tessera], stdout=subprocess.PIPE, text=True, env=env)
    address = child.stdout.readline().strip()
    asked = tessera_vae.Server(address)
    try:
        asked.models()
        raise AssertionError("it answers without its token")
    except tessera_vae.TesseraError as err:
        assert err.status == 401, err
    child.send_signal(signal.SIGKILL)
    child.wait()
    for _ in range(100):
        try:
            asked.models()
        except tessera_vae.TesseraError as err:
            if err.status == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the program outlives who started it")


def killed(line, z):
    """If the program ends unexpectedly, every request says why."""
    import tessera_vae

    with tessera_vae.Program(line.model("wan"), program=line.o.tessera, arguments=COMMON) as vae:
        frames = vae.frames(numpy.concatenate([z] * 40, axis=2))
        next(frames)
        keeper = vae._process.pid
        with open(f"/proc/{keeper}/task/{keeper}/children") as f:
            os.kill(int(f.read()), signal.SIGKILL)
        for ask in (lambda: list(frames), lambda: vae.decode(z), vae.models):
            said_why(ask, "the program ended with signal 9 and printed:\n", "Ctrl-C ends it.")
    said_why(vae.models, "the program was closed")


def said_why(ask, *words):
    import tessera_vae

    try:
        ask()
    except tessera_vae.TesseraError as err:
        assert all(w in str(err) for w in words), err
        return
    raise AssertionError("a program that is gone has answered")


def pipeline(line, address):
    """A whole diffusers pipeline with Tessera as its VAE."""
    import tessera_vae
    from diffusers import WanPipeline
    from tessera_vae.diffusers import AutoencoderKL

    pipe = made(WanPipeline, None, 16)
    pipe.vae = AutoencoderKL(tessera_vae.Server(address, model="wan"))
    clips(line, pipe, num_frames=5)
    stand_in(pipe.vae.to("cpu", torch.float32), address)


def clip_pipelines(line, address):
    """Pipelines that also encode: a picture as the first frame, and an initial clip."""
    import tessera_vae
    from diffusers import WanImageToVideoPipeline, WanVideoToVideoPipeline
    from tessera_vae.diffusers import AutoencoderKL

    vae = AutoencoderKL(tessera_vae.Server(address, model="wan"))
    frames = [Image.fromarray(frame) for frame in pixels()]
    clips(line, made(WanImageToVideoPipeline, vae, 36), image=frames[0], num_frames=5)
    clips(line, made(WanVideoToVideoPipeline, vae, 16), video=frames)


def made(kind, vae, channels):
    """A pipeline of Wan's with a small, untrained transformer."""
    from diffusers import FlowMatchEulerDiscreteScheduler, WanTransformer3DModel

    torch.manual_seed(3)
    transformer = WanTransformer3DModel(
        patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=channels, out_channels=16, text_dim=32,
        freq_dim=256, ffn_dim=32, num_layers=1, cross_attn_norm=True, qk_norm="rms_norm_across_heads", rope_max_seq_len=32,
    ).eval()  # fmt: skip
    pipe = kind(tokenizer=None, text_encoder=None, vae=vae, transformer=transformer, scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0))
    pipe.set_progress_bar_config(disable=True)
    return pipe.to("cpu", torch.float32)


def clips(line, pipe, **more):
    """A pipeline's video equals the command line's from its latents."""

    def run(output):
        words = torch.ones(1, 4, 32)
        return pipe(
            prompt_embeds=words, negative_prompt_embeds=-words, height=32, width=48, num_inference_steps=2,
            generator=torch.Generator().manual_seed(1), output_type=output, **more,
        ).frames  # fmt: skip

    z = run("latent").numpy()
    want = numpy.clip(line.decode("wan", z) / 2 + 0.5, 0, 1)
    got = run("np")[0]
    assert got.shape == want.shape == (5, 32, 48, 3), got.shape
    near(pipe, got, want)


def near(pipe, got, want):
    """Pipelines undo the scale in torch, so their last bits differ."""
    apart = abs(got - want).max()
    print(f"python: {type(pipe).__name__} is {apart:.1e} from the command line")
    assert apart < 1e-5


def picture_pipelines(line, address):
    """Qwen-Image's pipelines, whose latents are packed; one starts with a picture."""
    import tessera_vae
    from diffusers import FlowMatchEulerDiscreteScheduler, QwenImageImg2ImgPipeline, QwenImagePipeline, QwenImageTransformer2DModel
    from tessera_vae.diffusers import AutoencoderKL

    torch.manual_seed(4)
    transformer = QwenImageTransformer2DModel(
        num_layers=1, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, axes_dims_rope=(8, 4, 4)
    ).eval()  # fmt: skip
    vae = AutoencoderKL(tessera_vae.Server(address, model="qwen"))
    picture = Image.fromarray(pixels(frames=1)[0])
    for kind, more in ((QwenImagePipeline, {}), (QwenImageImg2ImgPipeline, {"image": picture})):
        pipe = kind(FlowMatchEulerDiscreteScheduler(), vae, None, None, transformer)
        pipe.set_progress_bar_config(disable=True)

        def run(output):
            words, mask = torch.ones(1, 4, 32), torch.ones(1, 4, dtype=torch.long)
            return pipe(
                prompt_embeds=words, prompt_embeds_mask=mask, height=32, width=48, num_inference_steps=2, true_cfg_scale=1.0,
                generator=torch.Generator().manual_seed(1), output_type=output, **more,
            ).images  # fmt: skip

        z = pipe._unpack_latents(run("latent"), 32, 48, pipe.vae_scale_factor).numpy()
        near(pipe, run("np")[0], numpy.clip(line.decode("qwen", z)[0] / 2 + 0.5, 0, 1))


def sdxl_pipeline(line, address):
    """Stable Diffusion XL's pipeline, which applies scaling_factor, and latents_mean and latents_std if it finds them."""
    import tessera_vae
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel
    from tessera_vae.diffusers import AutoencoderKL

    torch.manual_seed(5)
    unet = UNet2DConditionModel(
        sample_size=4, in_channels=4, out_channels=4, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=(2, 4), use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=8,
        transformer_layers_per_block=(1, 2), projection_class_embeddings_input_dim=80,
    ).eval()  # fmt: skip
    vae = AutoencoderKL(tessera_vae.Server(address, model="sdxl"))
    pipe = StableDiffusionXLPipeline(vae, None, None, None, None, unet, EulerDiscreteScheduler(), add_watermarker=False)
    pipe.set_progress_bar_config(disable=True)

    def run(output):
        words, pooled = torch.ones(1, 4, 32), torch.ones(1, 32)
        return pipe(
            prompt_embeds=words, negative_prompt_embeds=-words, pooled_prompt_embeds=pooled, negative_pooled_prompt_embeds=-pooled,
            height=32, width=48, num_inference_steps=2, generator=torch.Generator().manual_seed(1), output_type=output,
        ).images  # fmt: skip

    z = run("latent").numpy()
    near(pipe, run("np")[0], numpy.clip(line.decode("sdxl", z[:, :, None])[0] / 2 + 0.5, 0, 1))


def flux2_latents(line, address):
    """Convert a packed latent to the VAE's own numbers, like FLUX.2's pipelines."""
    import tessera_vae
    from diffusers import Flux2Pipeline
    from tessera_vae.diffusers import AutoencoderKL

    vae = AutoencoderKL(tessera_vae.Server(address, model="flux2_vae"))
    z = latent("flux2_vae", frames=1)
    mean, deviation = vae.bn.running_mean, torch.sqrt(vae.bn.running_var + vae.config.batch_norm_eps)
    own = torch.from_numpy(z[:, :, 0]) * deviation.view(1, -1, 1, 1) + mean.view(1, -1, 1, 1)
    got = vae.decode(Flux2Pipeline._unpatchify_latents(own), None, return_dict=False)[0]
    near(vae, numpy.clip(got[0].numpy(), -1, 1), video(line.decode("flux2_vae", z))[0, :, 0])


def stand_in(vae, address):
    """What else pipelines use of a VAE."""
    import tessera_vae
    from tessera_vae.diffusers import AutoencoderKL

    x = torch.from_numpy(video(pixels()) / numpy.float32(127.5) - 1)
    dist = vae.encode(x).latent_dist
    moments = vae.vae.encode(x, moments=True)
    assert torch.equal(dist.mode(), moments[:, :16]) and torch.equal(dist.mean, vae.vae.encode(x, scale="none"))
    assert torch.equal(vae._encode(x), moments)
    assert [p.dtype for p in vae.parameters()] == [torch.float32] and vae.eval().train(False).requires_grad_(False) is vae
    assert vae.half().dtype == torch.float16 and vae.bfloat16().dtype == torch.bfloat16 and vae.float().dtype == torch.float32
    again = [dist.sample(torch.Generator().manual_seed(2)) for _ in range(2)]
    assert torch.equal(*again) and not torch.equal(again[0], dist.mode())
    assert torch.equal(vae.decode(dist.mode(), return_dict=False)[0], vae.decode(dist.mode()).sample)
    c = vae.config
    assert c.z_dim == c["latent_channels"] == 16 and c.scaling_factor == 1 and len(c.latents_mean) == 16
    assert c.scale_factor_temporal == 4 and c.scale_factor_spatial == 8
    one = AutoencoderKL(tessera_vae.Server(address, model="seedvr2")).config
    assert abs(one.scaling_factor - 0.9152) < 1e-9 and one.shift_factor == 0 and one.latents_mean is None


def main():
    p = argparse.ArgumentParser()
    for name in ("tessera", "models", "folder"):
        p.add_argument("--" + name, required=True, type=os.path.abspath)
    p.add_argument("part", choices=["curl", "diffusers", "python"])
    o = p.parse_args()
    o.folder = os.path.join(o.folder, o.part)
    shutil.rmtree(o.folder, ignore_errors=True)
    os.makedirs(o.folder)
    line = CommandLine(o)
    global vae_program
    vae_program = o.tessera
    server, address = served(o, line)
    begun = time.monotonic()
    try:
        globals()[o.part](line, address)
    finally:
        server.terminate()
        server.wait()
    print(f"{o.part}: {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()
