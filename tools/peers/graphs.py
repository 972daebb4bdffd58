"""The cases as onnx graphs, each in all ways that onnxruntime supports."""

import json
import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import pictures

GROUPS, EPS = 32, 1e-6


def load(folder):
    """A case and its numbers: x, weight and bias, channels first."""
    with open(os.path.join(folder, "case.json"), encoding="utf-8") as file:
        case = json.load(file)
    numbers = {}
    for name in ("x", "weight", "bias"):
        path = os.path.join(folder, name + ".bin")
        if os.path.exists(path):
            numbers[name] = np.fromfile(path, "<f4")
    return case, numbers


def shape(case):
    """The dimensions of the input, with a batch of 1."""
    if case["op"] == "attention":
        return [1, case["h"] * case["w"], case["in"]]
    if case["op"] == "conv3d":
        return [1, case["in"], case["t"], case["h"], case["w"]]
    if case["op"] == "decoder":
        return [1, case["in"], case["h"] // 8, case["w"] // 8]
    return [1, case["in"], case["h"], case["w"]]


def feeds(case, numbers):
    if case["op"] == "attention":
        return dict(zip("qkv", numbers["x"].reshape(3, *shape(case))))
    return {"x": numbers["x"].reshape(shape(case))}


def of(case, numbers):
    """Models by name."""
    return {"conv3d": conv, "conv2d": conv, "norm": norm, "attention": attention}[case["op"]](case, numbers)


def model(nodes, inputs, output, constants, opset=21):
    """A model with one output, y; every input and output is f32."""
    tensor = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    graph = helper.make_graph(
        nodes, "case", [tensor(k, v) for k, v in inputs.items()], [tensor("y", output)],
        [numpy_helper.from_array(v, k) for k, v in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def conv(case, numbers):
    dims = shape(case)
    out = [1, case["out"], *dims[2:]]
    kernel = [3] * (len(dims) - 2)
    node = helper.make_node("Conv", ["x", "weight", "bias"], ["y"], pads=[1] * (2 * len(kernel)))
    constants = {"weight": numbers["weight"].reshape(case["out"], case["in"], *kernel), "bias": numbers["bias"]}
    return {"Conv": model([node], {"x": dims}, out, constants)}


def write(folder):
    """Write the case's graphs; return their files by name, and the inputs."""
    case, numbers = load(folder)
    paths = {}
    if case["op"] == "decoder":
        models = pictures.models(os.path.join(folder, "decoder.safetensors"), shape(case))
    else:
        models = of(case, numbers)
    for name, graph in models.items():
        paths[name] = os.path.join(folder, name + ".onnx")
        with open(paths[name], "wb") as out:
            out.write(graph.SerializeToString())
    return paths, feeds(case, numbers)


def silu():
    return [helper.make_node("Sigmoid", ["n"], ["s"]), helper.make_node("Mul", ["n", "s"], ["y"])]


def norm(case, numbers):
    """A norm by GroupNormalization; by InstanceNormalization of groups, as PyTorch's
    exporter writes it; by LayerNormalization of groups; and by means."""
    dims, c = shape(case), case["in"]
    size = c // GROUPS * dims[2] * dims[3]
    gamma, beta = numbers["weight"], numbers["bias"]
    constants = {
        "gamma": gamma.reshape(1, c, 1, 1), "beta": beta.reshape(1, c, 1, 1),
        "grouped": np.array([1, GROUPS, -1], "i8"), "whole": np.array(dims, "i8"),
    }

    def apart(nodes, **more):
        """A graph in which the norm of g is i."""
        before = [helper.make_node("Reshape", ["x", "grouped"], ["g"])]
        after = [
            helper.make_node("Reshape", ["i", "whole"], ["r"]),
            helper.make_node("Mul", ["r", "gamma"], ["m"]),
            helper.make_node("Add", ["m", "beta"], ["n"]),
        ]
        return model(before + nodes + after + silu(), {"x": dims}, dims, {**constants, **more})

    whole = [helper.make_node("GroupNormalization", ["x", "gamma", "beta"], ["n"], num_groups=GROUPS, epsilon=EPS)]
    means = [
        helper.make_node("ReduceMean", ["g", "last"], ["mean"], keepdims=1),
        helper.make_node("Sub", ["g", "mean"], ["d"]),
        helper.make_node("Mul", ["d", "d"], ["squares"]),
        helper.make_node("ReduceMean", ["squares", "last"], ["variance"], keepdims=1),
        helper.make_node("Add", ["variance", "eps"], ["above"]),
        helper.make_node("Sqrt", ["above"], ["deviation"]),
        helper.make_node("Div", ["d", "deviation"], ["i"]),
    ]
    return {
        "GroupNormalization": model(whole + silu(), {"x": dims}, dims, {"gamma": gamma, "beta": beta}),
        "InstanceNormalization": apart(
            [helper.make_node("InstanceNormalization", ["g", "ones", "zeros"], ["i"], epsilon=EPS)],
            ones=np.ones(GROUPS, "f4"), zeros=np.zeros(GROUPS, "f4"),
        ),
        "LayerNormalization": apart(
            [helper.make_node("LayerNormalization", ["g", "ones"], ["i"], epsilon=EPS, axis=-1)], ones=np.ones(size, "f4"),
        ),
        "ReduceMean": apart(means, last=np.array([-1], "i8"), eps=np.array(EPS, "f4")),
    }


def attention(case, _):
    """Attention by products and a softmax, and by onnxruntime's own operation."""
    dims = shape(case)
    inputs = {name: dims for name in "qkv"}
    apart = [
        helper.make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Mul", ["q", "scale"], ["scaled"]),
        helper.make_node("MatMul", ["scaled", "t"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    own = [helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], num_heads=1, domain="com.microsoft")]
    scale = np.array(case["in"] ** -0.5, "f4")
    return {
        "MatMul-Softmax-MatMul": model(apart, inputs, dims, {"scale": scale}),
        "MultiHeadAttention": model(own, inputs, dims, {}),
    }
