"""A SeedVR2 decoder as an onnx graph in onnxruntime's WebGPU provider, without fallback
to the processor:

    decoder.py CHECKPOINT FOLDER L H W

writes FOLDER/z.npy, noise of [16, L, H, W] in the model's scale. It reads one order
per line and answers with one line of JSON:

    check   exports FOLDER/decoder.onnx, which decodes the whole clip at once, and
            compares the results of the CPU provider and the WebGPU provider with
            FOLDER/out.npy, Tessera's [3, T, 8H, 8W]: NMSE
    run     runs once: seconds
"""

import json
import os
import struct
import sys
import time

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

EPS = 1e-6


def checkpoint(path):
    """Tensors as f32, and the metadata."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    kinds = {"F16": "<f2", "F32": "<f4"}
    tensors = {
        name: np.frombuffer(data[slice(*t["data_offsets"])], kinds[t["dtype"]]).reshape(t["shape"]).astype("f4")
        for name, t in header.items() if name.startswith(("decoder.", "post_quant_conv."))
    }
    return tensors, header.get("__metadata__", {})


class Graph:
    """A graph under construction: nodes are added in order, values are names with known shapes."""

    def __init__(self, tensors, groups):
        self.tensors, self.groups = tensors, groups
        self.nodes, self.constants, self.shapes, self.given = [], [], {}, {}

    def constant(self, array):
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.given:
            self.given[key] = f"c{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(array, self.given[key]))
        return self.given[key]

    def add(self, op, inputs, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.shapes[name] = tuple(shape)
        return name

    def reshape(self, x, shape):
        return self.add("Reshape", [x, self.constant(np.array(shape, "i8"))], shape)

    def transpose(self, x, perm):
        return self.add("Transpose", [x], [self.shapes[x][i] for i in perm], perm=perm)

    def pair(self, op, a, b):
        """An operation of two values of equal shape, or with a constant b."""
        return self.add(op, [a, b], self.shapes[a])

    def frames(self, x, start, end):
        _, c, t, h, w = self.shapes[x]
        ends = [self.constant(np.array([v], "i8")) for v in (start, end, 2)]
        return self.add("Slice", [x, *ends], (1, c, min(end, t) - start, h, w))

    def join(self, parts):
        _, c, _, h, w = self.shapes[parts[0]]
        return self.add("Concat", parts, (1, c, sum(self.shapes[p][2] for p in parts), h, w), axis=2)

    def conv(self, name, x):
        """A causal convolution: frame 0 stands for the frames before it."""
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        _, _, t, h, w = self.shapes[x]
        kernel = list(weight.shape[2:])
        if kernel[0] == 3:
            first = self.frames(x, 0, 1)
            x = self.join([first, first, x])
        pad = kernel[1] // 2
        pads = [0, pad, pad] * 2
        return self.add("Conv", [x, self.constant(weight), self.constant(bias)], (1, len(bias), t, h, w), kernel_shape=kernel, pads=pads)

    def norm(self, name, x, silu):
        """A norm of each frame; returns frames first: [T, C, H, W]."""
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        _, c, t, h, w = self.shapes[x]
        x = self.reshape(self.transpose(x, [0, 2, 1, 3, 4]), [t, self.groups, c // self.groups * h * w])
        ones, zeros = (self.constant(np.full(self.groups, v, "f4")) for v in (1, 0))
        x = self.add("InstanceNormalization", [x, ones, zeros], self.shapes[x], epsilon=EPS)
        x = self.reshape(x, [t, c, h, w])
        x = self.pair("Mul", x, self.constant(weight.reshape(1, c, 1, 1)))
        x = self.pair("Add", x, self.constant(bias.reshape(1, c, 1, 1)))
        return self.pair("Mul", x, self.add("Sigmoid", [x], self.shapes[x])) if silu else x

    def clip(self, x):
        """[T, C, H, W] as [1, C, T, H, W]."""
        t, c, h, w = self.shapes[x]
        return self.transpose(self.reshape(x, [1, t, c, h, w]), [0, 2, 1, 3, 4])

    def block(self, name, x):
        y = self.conv(name + ".conv1", self.clip(self.norm(name + ".norm1", x, True)))
        y = self.conv(name + ".conv2", self.clip(self.norm(name + ".norm2", y, True)))
        if name + ".conv_shortcut.weight" in self.tensors:
            x = self.conv(name + ".conv_shortcut", x)
        return self.pair("Add", y, x)

    def attention(self, name, x):
        _, c, t, h, w = self.shapes[x]
        tokens = self.transpose(self.reshape(self.norm(name + ".group_norm", x, False), [t, c, h * w]), [0, 2, 1])

        def linear(part, v):
            weight = self.constant(np.ascontiguousarray(self.tensors[f"{name}.{part}.weight"].T))
            return self.pair("Add", self.pair("MatMul", v, weight), self.constant(self.tensors[f"{name}.{part}.bias"]))

        q, k, v = (linear(part, tokens) for part in ("to_q", "to_k", "to_v"))
        q = self.pair("Mul", q, self.constant(np.array(c**-0.5, "f4")))
        square = (t, h * w, h * w)
        scores = self.add("MatMul", [q, self.transpose(k, [0, 2, 1])], square)
        o = self.add("MatMul", [self.add("Softmax", [scores], square, axis=-1), v], self.shapes[v])
        o = self.transpose(linear("to_out.0", o), [0, 2, 1])
        return self.pair("Add", x, self.clip(self.reshape(o, [t, c, h, w])))

    def upsample(self, name, x):
        _, c, t, h, w = self.shapes[x]
        u = self.conv(name + ".upscale_conv", x)
        z = self.shapes[u][1] // (4 * c)
        # Rows, columns and time of 2x2xz, then channels; in steps, because providers
        # transpose only a few axes. Time first: [2 2, z c, t, h w].
        u = self.transpose(self.reshape(u, [4, z, c, t, h * w]), [0, 2, 3, 1, 4])
        t *= z
        u = self.transpose(self.reshape(u, [2, 2, c * t, h, w]), [2, 3, 0, 4, 1])
        u = self.reshape(u, [1, c, t, 2 * h, 2 * w])
        if z == 2:
            u = self.join([self.frames(u, 0, 1), self.frames(u, 2, t)]) if t > 2 else self.frames(u, 0, 1)
        return self.conv(name + ".conv", u)

    def decoder(self, shape):
        self.shapes["z"] = shape
        x = self.conv("decoder.conv_in", "z")
        x = self.block("decoder.mid_block.resnets.0", x)
        x = self.attention("decoder.mid_block.attentions.0", x)
        x = self.block("decoder.mid_block.resnets.1", x)
        for i in range(4):
            for k in range(3):
                x = self.block(f"decoder.up_blocks.{i}.resnets.{k}", x)
            if i < 3:
                x = self.upsample(f"decoder.up_blocks.{i}.upsamplers.0", x)
        return self.conv("decoder.conv_out", self.clip(self.norm("decoder.conv_norm_out", x, True)))


def export(path, latent, graph_path):
    tensors, metadata = checkpoint(path)
    g = Graph(tensors, int(metadata.get("norm_num_groups", 32)))
    y = g.decoder(latent.shape)
    tensor = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(g.nodes, "decoder", [tensor("z", latent.shape)], [tensor(y, g.shapes[y])], g.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with open(graph_path, "wb") as out:
        out.write(model.SerializeToString())
    return len(g.nodes)


def nmse(got, want):
    got, want = got.astype("f8"), want.astype("f8")
    return float(((got - want) ** 2).sum() / (want**2).sum())


def session(path, provider):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if provider.startswith("WebGpu"):
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return ort.InferenceSession(path, options, providers=[provider])


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    ort.set_default_logger_severity(4)
    path, folder, *shape = sys.argv[1:]
    latent, graph = os.path.join(folder, "z.npy"), os.path.join(folder, "decoder.onnx")
    z = np.random.default_rng(1).standard_normal((1, 16, *map(int, shape))).astype("f4")
    np.save(latent, z[0])
    say({"onnxruntime-webgpu": ort.__version__})
    one = None
    for order in map(str.strip, sys.stdin):
        if order == "check":
            want = np.load(os.path.join(folder, "out.npy"))[None]
            nodes = export(path, z, graph)
            cpu = session(graph, "CPUExecutionProvider").run(None, {"z": z})[0]
            one = session(graph, "WebGpuExecutionProvider")
            say({"nodes": nodes, "cpu_nmse": nmse(cpu, want), "webgpu_nmse": nmse(one.run(None, {"z": z})[0], want)})
        else:
            start = time.perf_counter()
            one.run(None, {"z": z})
            say(time.perf_counter() - start)


if __name__ == "__main__":
    main()
