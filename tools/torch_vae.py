"""SeedVR2's autoencoder, Wan 2.1's and Stable Diffusion's decoders in plain PyTorch,
run as their authors run them: videos a slice of frames at a time, each convolution
keeping the last frames of its input. Called by gpu_torch.py and torch_bench.py. By itself it
compares what it computes with the goldens:

    python tools/torch_vae.py tests/goldens
"""

import json
import math
import struct
import sys

import torch
import torch.nn.functional as F


class Net:
    """A network that requests its weights by name and shape, with its causal memory."""

    def __init__(self, weight):
        self.weight, self.loaded, self.memory = weight, {}, {}

    def __getitem__(self, at):
        if at not in self.loaded:
            self.loaded[at] = self.weight(*at)
        return self.loaded[at]

    def conv(self, name, x, out, kernel, stride=1, padding=0):
        f = F.conv3d if len(kernel) == 3 else F.conv2d
        return f(x, self[name + ".weight", (out, x.shape[1], *kernel)], self[name + ".bias", (out,)], stride, padding)

    def causal(self, name, x, out, kernel=(3, 3, 3), stride=1, padding=1):
        """A convolution over the last two frames and x. The first frame is preceded by
        zeros, or by copies of it."""
        past = self.memory.get(name)
        if past is None:
            past = (torch.zeros_like(x[:, :, :1]) if self.zeros else x[:, :, :1]).expand(-1, -1, 2, -1, -1)
        x = torch.cat([past, x], 2)
        self.memory[name] = x[:, :, (1 if stride == 2 else 0) - 2 :].clone()
        return self.conv(name, x, out, kernel, stride, (0, padding, padding))

    def attend(self, q, k, v):
        """Attention of one head within each frame."""
        q, k, v = (t.transpose(1, 2).flatten(3).transpose(2, 3) for t in (q, k, v))  # 1, T, HW, C
        return F.scaled_dot_product_attention(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1))

    def sliced(self, run, x, first, rest):
        self.memory.clear()
        out = [run(x[:, :, :first])]
        for t in range(first, x.shape[2], rest):
            out.append(run(x[:, :, t : t + rest]))
        self.memory.clear()
        return torch.cat(out, 2)


class SeedVR2(Net):
    zeros = False

    def __init__(self, weight, widths=(128, 256, 512, 512), latent=16, groups=32):
        super().__init__(weight)
        self.widths, self.latent, self.groups = widths, latent, groups

    def norm(self, name, x):
        c = x.shape[1]
        y = F.group_norm(x.transpose(1, 2).flatten(0, 1), self.groups, self[name + ".weight", (c,)], self[name + ".bias", (c,)], 1e-6)
        return y.unflatten(0, (1, -1)).transpose(1, 2)

    def resnet(self, name, x, out):
        y = self.causal(name + ".conv1", F.silu(self.norm(name + ".norm1", x)), out)
        y = self.causal(name + ".conv2", F.silu(self.norm(name + ".norm2", y)), out)
        return y + (x if x.shape[1] == out else self.conv(name + ".conv_shortcut", x, out, (1, 1, 1)))

    def linear(self, name, x):
        c = x.shape[1]
        return F.conv3d(x, self[name + ".weight", (c, c)][:, :, None, None, None], self[name + ".bias", (c,)])

    def middle(self, name, x):
        c, at = x.shape[1], name + ".attentions.0"
        x = self.resnet(name + ".resnets.0", x, c)
        g = self.norm(at + ".group_norm", x)
        o = self.attend(*(self.linear(at + ".to_" + k, g) for k in "qkv"))
        x = x + self.linear(at + ".to_out.0", o.permute(1, 3, 0, 2).reshape(x.shape))
        return self.resnet(name + ".resnets.1", x, c)

    def up(self, name, x, z):
        c, (t, h, w) = x.shape[1], x.shape[2:]
        u = self.conv(name + ".upscale_conv", x, 4 * z * c, (1, 1, 1))
        u = u.view(1, 2, 2, z, c, t, h, w).permute(0, 4, 5, 3, 6, 1, 7, 2).reshape(1, c, t * z, 2 * h, 2 * w)
        if z == 2 and name + ".conv" not in self.memory:
            u = torch.cat([u[:, :, :1], u[:, :, 2:]], 2)
        return self.causal(name + ".conv", u, c)

    def head(self, name, x, out):
        return self.causal(name + ".conv_out", F.silu(self.norm(name + ".conv_norm_out", x)), out)

    def decode(self, z):
        def run(z):
            x = self.middle("decoder.mid_block", self.causal("decoder.conv_in", z, self.widths[3]))
            for i, out in enumerate(reversed(self.widths)):
                for r in range(3):
                    x = self.resnet(f"decoder.up_blocks.{i}.resnets.{r}", x, out)
                if i < 3:
                    x = self.up(f"decoder.up_blocks.{i}.upsamplers.0", x, 2 if i < 2 else 1)
            return self.head("decoder", x, 3)

        return self.sliced(run, z, 2, 1)

    def encode(self, x):
        """The moments, before they are scaled."""

        def run(x):
            x = self.causal("encoder.conv_in", x, self.widths[0])
            for i, out in enumerate(self.widths):
                for r in range(2):
                    x = self.resnet(f"encoder.down_blocks.{i}.resnets.{r}", x, out)
                name = f"encoder.down_blocks.{i}.downsamplers.0.conv"
                if i < 3:
                    x = F.pad(x, (0, 1, 0, 1))
                if i == 0:
                    x = self.conv(name, x, out, (1, 3, 3), (1, 2, 2))
                elif i < 3:
                    x = self.causal(name, x, out, stride=2, padding=0)
            return self.head("encoder", self.middle("encoder.mid_block", x), 2 * self.latent)

        return self.sliced(run, x, 5, 4)


class Wan21(Net):
    zeros = True

    def __init__(self, weight, dim=96, latent=16):
        super().__init__(weight)
        self.dim, self.latent = dim, latent

    def norm(self, name, x, ones=3):
        c = x.shape[1]
        return F.normalize(x, dim=1) * math.sqrt(c) * self[name + ".gamma", (c,) + (1,) * ones].view(c, 1, 1, 1)

    def resnet(self, name, x, out):
        y = self.causal(name + ".residual.2", F.silu(self.norm(name + ".residual.0", x)), out)
        y = self.causal(name + ".residual.6", F.silu(self.norm(name + ".residual.3", y)), out)
        return y + (x if x.shape[1] == out else self.conv(name + ".shortcut", x, out, (1, 1, 1)))

    def frames(self, f, x):
        """Apply a function of pictures to each frame."""
        return f(x[0].transpose(0, 1)).transpose(0, 1)[None]

    def middle(self, x):
        c = x.shape[1]
        x = self.resnet("decoder.middle.0", x, c)
        y = self.norm("decoder.middle.1.norm", x, 2)
        qkv = self.frames(lambda y: self.conv("decoder.middle.1.to_qkv", y, 3 * c, (1, 1)), y)
        o = self.attend(*qkv.chunk(3, 1)).permute(1, 3, 0, 2).reshape(x.shape)
        x = x + self.frames(lambda o: self.conv("decoder.middle.1.proj", o, c, (1, 1)), o)
        return self.resnet("decoder.middle.2", x, c)

    def up(self, name, x, time):
        c, t = x.shape[1], x.shape[2]
        if time and name + ".time_conv" not in self.memory:
            self.memory[name + ".time_conv"] = torch.zeros_like(x[:, :, :1]).expand(-1, -1, 2, -1, -1)
        elif time:
            u = self.causal(name + ".time_conv", x, 2 * c, (3, 1, 1), padding=0)
            x = u.unflatten(1, (2, c)).permute(0, 2, 3, 1, 4, 5).flatten(2, 3)
        enlarged = lambda x: F.interpolate(x, scale_factor=2.0, mode="nearest-exact")
        return self.frames(lambda x: self.conv(name + ".resample.1", enlarged(x), c // 2, (3, 3), padding=1), x)

    def decode(self, z):
        def run(z):
            x = self.causal("decoder.conv1", self.conv("conv2", z, self.latent, (1, 1, 1)), 4 * self.dim)
            x, at = self.middle(x), 0
            for i, many in enumerate((4, 4, 2, 1)):
                for _ in range(3):
                    x, at = self.resnet(f"decoder.upsamples.{at}", x, many * self.dim), at + 1
                if i < 3:
                    x, at = self.up(f"decoder.upsamples.{at}", x, i < 2), at + 1
            return self.causal("decoder.head.2", F.silu(self.norm("decoder.head.0", x)), 3)

        return self.sliced(run, z, 1, 1)


class KL(Net):
    """AutoencoderKL with the original names, for one picture."""

    def __init__(self, weight, widths=(128, 256, 512, 512), latent=4, groups=32):
        super().__init__(weight)
        self.widths, self.latent, self.groups = widths, latent, groups

    def same(self, name, x, out, side=3):
        return self.conv(name, x, out, (side, side), padding=side // 2)

    def norm(self, name, x):
        c = x.shape[1]
        return F.group_norm(x, self.groups, self[name + ".weight", (c,)], self[name + ".bias", (c,)], 1e-6)

    def resnet(self, name, x, out):
        y = self.same(name + ".conv1", F.silu(self.norm(name + ".norm1", x)), out)
        y = self.same(name + ".conv2", F.silu(self.norm(name + ".norm2", y)), out)
        return y + (x if x.shape[1] == out else self.same(name + ".nin_shortcut", x, out, 1))

    def middle(self, name, x):
        c, at = x.shape[1], name + ".attn_1"
        x = self.resnet(name + ".block_1", x, c)
        g = self.norm(at + ".norm", x)
        o = self.attend(*(self.same(f"{at}.{k}", g, c, 1).unsqueeze(2) for k in "qkv"))
        x = x + self.same(at + ".proj_out", o[0].transpose(1, 2).reshape(x.shape), c, 1)
        return self.resnet(name + ".block_2", x, c)

    def decode(self, z):
        x = self.same("post_quant_conv", z[:, :, 0], self.latent, 1)
        x = self.middle("decoder.mid", self.same("decoder.conv_in", x, self.widths[-1]))
        for i in reversed(range(len(self.widths))):
            for k in range(3):
                x = self.resnet(f"decoder.up.{i}.block.{k}", x, self.widths[i])
            if i > 0:
                x = F.interpolate(x, scale_factor=2.0, mode="nearest")
                x = self.same(f"decoder.up.{i}.upsample.conv", x, self.widths[i])
        return self.same("decoder.conv_out", F.silu(self.norm("decoder.norm_out", x)), 3)[:, :, None]


def made_up(device, dtype):
    """Random weights of about the magnitude of trained ones."""

    def weight(name, shape):
        if len(shape) == 1 or name.endswith("gamma"):
            return torch.full(shape, 0.0 if name.endswith("bias") else 1.0, device=device, dtype=dtype)
        return (torch.randn(shape, device=device) / math.sqrt(math.prod(shape[1:]))).to(dtype)

    return weight


def stored(path):
    """Weights of a .safetensors file, in f32."""
    from safetensors.torch import load_file

    tensors = load_file(path)

    def weight(name, shape):
        if tuple(tensors[name].shape) != tuple(shape):
            raise ValueError(f"{path}: {name} is {list(tensors[name].shape)}, expected {list(shape)}")
        return tensors[name].float()

    return weight


def values(key, n):
    """The goldens' n numbers for a name."""
    import numpy as np

    h = 14695981039346656037
    for byte in key.encode():
        h = (h ^ byte) * 1099511628211 % 2**64
    with np.errstate(over="ignore"):
        s = np.uint64(h) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        s = (s ^ s >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        s = (s ^ s >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        s ^= s >> np.uint64(31)
    return torch.from_numpy((s >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1)


def synthetic(name, shape):
    """The goldens' weights, in f64."""
    v = values(name, math.prod(shape)).reshape(shape)
    if name.endswith("gamma") or "norm" in name and name.endswith("weight"):
        return 1 + 0.1 * v
    return v * math.sqrt(3 / math.prod(shape[1:])) if len(shape) > 1 else 0.1 * v


def nmse(got, want):
    return float(((got - want) ** 2).sum() / (want**2).sum())


def golden(path, case):
    """The numbers of a case, in f64."""
    with open(path, "rb") as f:
        if path.endswith(".json"):
            return torch.tensor(json.load(f)[case]["data"], dtype=torch.float64)
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        start, end = header[case + ".out"]["data_offsets"]
        f.seek(start, 1)
        return torch.frombuffer(bytearray(f.read(end - start)), dtype=torch.float32).double()


def check(folder):
    """Check the networks against the goldens."""
    seedvr2 = SeedVR2(synthetic, (32, 64, 96, 96), 4)
    wan = Wan21(synthetic, 16, 4)
    kl = KL(synthetic, (32, 64, 96, 96))
    wrong = 0
    for file, case, run, key, shape in (
        ("seedvr2_small.json", "seedvr2/encode_T9_moments", seedvr2.encode, "input", (3, 9, 16, 24)),
        ("seedvr2_small.json", "seedvr2/decode_L3", seedvr2.decode, "latent", (4, 3, 2, 3)),
        ("wan_small.json", "wan21/decode_L3", wan.decode, "latent", (4, 3, 2, 3)),
        ("kl_small.safetensors", "decode_4x1x3x4", kl.decode, "latent", (4, 1, 3, 4)),
        ("kl_small.safetensors", "decode_4x1x5x7", kl.decode, "latent", (4, 1, 5, 7)),
    ):
        want = golden(f"{folder}/{file}", case)
        with torch.inference_mode():
            got = run(values(key, math.prod(shape)).reshape(1, *shape)).flatten()
        error = nmse(got, want) if got.shape == want.shape else math.inf
        print(f"{file}, {case}: NMSE {error:.1e}")
        wrong += not error < 1e-12
    return wrong


if __name__ == "__main__":
    sys.exit(1 if check(sys.argv[1]) else 0)
