"""Stable Diffusion's decoder, AutoencoderKL's with the original names, as an onnx
graph that PyTorch's exporter would write."""

import math

import numpy as np
from onnx import TensorProto, helper

import decoder

GROUPS = 32

# Bytes of a binding on lavapipe. onnxruntime's provider binds larger tensors in
# segments, which its softmax and 3x3 convolutions reject.
BINDING = 128 << 20


class Graph(decoder.Graph):
    """A graph for one picture: values are lists of tensors [1, C, H, W] with a part of the
    channels each, of at most most bytes; without most there is one part."""

    def __init__(self, tensors, groups, most=None):
        super().__init__(tensors, groups)
        self.most = most or math.inf

    def parts(self, c, h, w):
        """The slices that split c channels into parts."""
        n = 1
        while 4 * c // n * h * w > self.most:
            n *= 2
        return [slice(c // n * i, c // n * (i + 1)) for i in range(n)]

    def add_all(self, a, b):
        return [self.pair("Add", *both) for both in zip(a, b, strict=True)]

    def conv(self, name, xs):
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        _, _, h, w = self.shapes[xs[0]]
        pads, ys = [weight.shape[2] // 2] * 4, []
        for out in self.parts(len(bias), h, w):
            y, start = None, 0
            for x in xs:
                end = start + self.shapes[x][1]
                inputs = [x, self.constant(np.ascontiguousarray(weight[out, start:end]))]
                if y is None:
                    inputs.append(self.constant(bias[out]))
                term = self.add("Conv", inputs, (1, out.stop - out.start, h, w), kernel_shape=weight.shape[2:], pads=pads)
                y, start = self.pair("Add", y, term) if y else term, end
            ys.append(y)
        return ys

    def norm(self, name, xs, silu):
        ys, start, groups = [], 0, self.groups // len(xs)
        ones, zeros = (self.constant(np.full(groups, v, "f4")) for v in (1, 0))
        for x in xs:
            _, c, h, w = self.shapes[x]
            weight, bias = (self.tensors[f"{name}.{k}"][start : start + c].reshape(1, c, 1, 1) for k in ("weight", "bias"))
            x = self.reshape(x, [1, groups, c // groups * h * w])
            x = self.add("InstanceNormalization", [x, ones, zeros], self.shapes[x], epsilon=decoder.EPS)
            x = self.reshape(x, [1, c, h, w])
            x = self.pair("Add", self.pair("Mul", x, self.constant(weight)), self.constant(bias))
            ys.append(self.pair("Mul", x, self.add("Sigmoid", [x], self.shapes[x])) if silu else x)
            start += c
        return ys

    def block(self, name, x):
        y = self.conv(name + ".conv1", self.norm(name + ".norm1", x, True))
        y = self.conv(name + ".conv2", self.norm(name + ".norm2", y, True))
        if name + ".nin_shortcut.weight" in self.tensors:
            x = self.conv(name + ".nin_shortcut", x)
        return self.add_all(y, x)

    def slice(self, x, axis, start, end):
        shape = list(self.shapes[x])
        if end - start == shape[axis]:
            return x
        shape[axis] = end - start
        return self.add("Slice", [x, *(self.constant(np.array([v], "i8")) for v in (start, end, axis))], shape)

    def attention(self, name, x):
        """Attention. If the scores have more than most bytes, it processes some queries at
        once, as diffusers slices them to save memory."""
        _, c, h, w = self.shapes[x[0]]
        n = h * w
        g = self.norm(name + ".norm", x, False)
        q, k, v = (self.reshape(self.conv(f"{name}.{part}", g)[0], [1, c, n]) for part in "qkv")
        q = self.pair("Mul", self.transpose(q, [0, 2, 1]), self.constant(np.array(c**-0.5, "f4")))
        v = self.transpose(v, [0, 2, 1])
        rows, slices = int(max(1, min(n, self.most // (4 * n)))), []
        for start in range(0, n, rows):
            end = min(start + rows, n)
            scores = self.add("MatMul", [self.slice(q, 1, start, end), k], (1, end - start, n))
            scores = self.add("Softmax", [scores], self.shapes[scores], axis=-1)
            slices.append(self.add("MatMul", [scores, v], (1, end - start, c)))
        o = slices[0] if len(slices) == 1 else self.add("Concat", slices, (1, n, c), axis=1)
        o = self.reshape(self.transpose(o, [0, 2, 1]), [1, c, h, w])
        return self.add_all(x, self.conv(name + ".proj_out", [o]))

    def upsample(self, name, x):
        _, c, h, w = self.shapes[x[0]]
        scales, ys = self.constant(np.array([1, 1, 2, 2], "f4")), []
        for some in self.parts(len(x) * c, 2 * h, 2 * w):
            at, start, many = some.start // c, some.start % c, some.stop - some.start
            y = self.slice(x[at], 1, start, start + many)
            ys.append(self.add("Resize", [y, "", scales], (1, many, 2 * h, 2 * w), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
        return self.conv(name + ".conv", ys)

    def decoder(self, shape):
        self.shapes["x"] = shape
        x = self.conv("decoder.conv_in", self.conv("post_quant_conv", ["x"]))
        x = self.block("decoder.mid.block_1", x)
        x = self.attention("decoder.mid.attn_1", x)
        x = self.block("decoder.mid.block_2", x)
        for i in (3, 2, 1, 0):
            for k in range(3):
                x = self.block(f"decoder.up.{i}.block.{k}", x)
            if i > 0:
                x = self.upsample(f"decoder.up.{i}.upsample", x)
        return self.conv("decoder.conv_out", self.norm("decoder.norm_out", x, True))


def models(path, latent):
    """The graphs of a checkpoint by name, for a latent of this shape: as PyTorch exports it
    and, if the picture is so large that the provider may fail, in parts that fit a binding."""
    whole = Graph(decoder.checkpoint(path)[0], GROUPS)
    found = {"decoder": model(whole, latent)}
    if max(4 * math.prod(shape) for shape in whole.shapes.values()) > BINDING:
        found["decoder-in-parts"] = model(Graph(whole.tensors, GROUPS, BINDING), latent)
    return found


def model(g, latent):
    """Adds the decoder from x to y."""
    g.nodes.append(helper.make_node("Identity", g.decoder(latent), ["y"]))
    picture = (1, 3, 8 * latent[2], 8 * latent[3])
    tensor = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    graph = helper.make_graph(g.nodes, "decoder", [tensor("x", latent)], [tensor("y", picture)], g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
