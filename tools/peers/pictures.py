"""Stable Diffusion's decoder, AutoencoderKL's with the original names, as an onnx
graph that PyTorch's exporter would write."""

import numpy as np
from onnx import TensorProto, helper

import decoder

GROUPS = 32
SCORES = 128 << 20  # bytes of attention's scores that one softmax takes: its shader fails beyond


class Graph(decoder.Graph):
    """Of one picture: values are [1, C, H, W]."""

    def conv(self, name, x):
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        _, _, h, w = self.shapes[x]
        pad = weight.shape[2] // 2
        return self.add("Conv", [x, self.constant(weight), self.constant(bias)], (1, len(bias), h, w), kernel_shape=weight.shape[2:], pads=[pad] * 4)

    def norm(self, name, x, silu):
        weight, bias = self.tensors[name + ".weight"], self.tensors[name + ".bias"]
        _, c, h, w = self.shapes[x]
        x = self.reshape(x, [1, self.groups, c // self.groups * h * w])
        ones, zeros = (self.constant(np.full(self.groups, v, "f4")) for v in (1, 0))
        x = self.add("InstanceNormalization", [x, ones, zeros], self.shapes[x], epsilon=decoder.EPS)
        x = self.reshape(x, [1, c, h, w])
        x = self.pair("Mul", x, self.constant(weight.reshape(1, c, 1, 1)))
        x = self.pair("Add", x, self.constant(bias.reshape(1, c, 1, 1)))
        return self.pair("Mul", x, self.add("Sigmoid", [x], self.shapes[x])) if silu else x

    def block(self, name, x):
        y = self.conv(name + ".conv1", self.norm(name + ".norm1", x, True))
        y = self.conv(name + ".conv2", self.norm(name + ".norm2", y, True))
        if name + ".nin_shortcut.weight" in self.tensors:
            x = self.conv(name + ".nin_shortcut", x)
        return self.pair("Add", y, x)

    def attention(self, name, x):
        """In slices of the queries, as diffusers does it to save memory, where there
        are too many scores."""
        _, c, h, w = self.shapes[x]
        n = h * w
        g = self.norm(name + ".norm", x, False)
        q, k, v = (self.reshape(self.conv(f"{name}.{part}", g), [1, c, n]) for part in "qkv")
        q = self.pair("Mul", self.transpose(q, [0, 2, 1]), self.constant(np.array(c**-0.5, "f4")))
        v = self.transpose(v, [0, 2, 1])
        rows, slices = max(1, min(n, SCORES // (4 * n))), []
        for start in range(0, n, rows):
            end = min(start + rows, n)
            part = q
            if rows < n:
                part = self.add("Slice", [q, *(self.constant(np.array([at], "i8")) for at in (start, end, 1))], (1, end - start, c))
            scores = self.add("MatMul", [part, k], (1, end - start, n))
            scores = self.add("Softmax", [scores], self.shapes[scores], axis=-1)
            slices.append(self.add("MatMul", [scores, v], (1, end - start, c)))
        o = slices[0] if len(slices) == 1 else self.add("Concat", slices, (1, n, c), axis=1)
        o = self.reshape(self.transpose(o, [0, 2, 1]), [1, c, h, w])
        return self.pair("Add", x, self.conv(name + ".proj_out", o))

    def upsample(self, name, x):
        _, c, h, w = self.shapes[x]
        scales = self.constant(np.array([1, 1, 2, 2], "f4"))
        x = self.add("Resize", [x, "", scales], (1, c, 2 * h, 2 * w), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        return self.conv(name + ".conv", x)

    def decoder(self, shape):
        self.shapes["x"] = shape
        x = self.conv("decoder.conv_in", self.conv("post_quant_conv", "x"))
        x = self.block("decoder.mid.block_1", x)
        x = self.attention("decoder.mid.attn_1", x)
        x = self.block("decoder.mid.block_2", x)
        for i in (3, 2, 1, 0):
            for k in range(3):
                x = self.block(f"decoder.up.{i}.block.{k}", x)
            if i > 0:
                x = self.upsample(f"decoder.up.{i}.upsample", x)
        return self.conv("decoder.conv_out", self.norm("decoder.norm_out", x, True))


def model(path, latent):
    """Of a checkpoint, for a latent of this shape; from x to y."""
    g = Graph(decoder.checkpoint(path)[0], GROUPS)
    g.nodes.append(helper.make_node("Identity", [g.decoder(latent)], ["y"]))
    picture = (1, 3, 8 * latent[2], 8 * latent[3])
    tensor = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    graph = helper.make_graph(g.nodes, "decoder", [tensor("x", latent)], [tensor("y", picture)], g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
