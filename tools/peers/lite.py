"""The cases as tflite models, for LiteRT.js; channels last."""

import os

import flatbuffers
import numpy as np
import tflite

import graphs

SAME = 0  # padding; 0 also means no fused activation


def transposed(a, *axes):
    return np.ascontiguousarray(a.transpose(axes))


class Model:
    """A model with one subgraph; every tensor is f32, except axes."""

    def __init__(self):
        self.b = flatbuffers.Builder(1 << 20)
        self.tensors, self.buffers, self.operators, self.codes = [], [b""], [], []

    def tensor(self, shape, data=None):
        if data is not None:
            self.buffers.append(data.tobytes())
        kind = tflite.TensorType.INT32 if data is not None and data.dtype == np.int32 else tflite.TensorType.FLOAT32
        self.tensors.append((shape, kind, len(self.buffers) - 1 if data is not None else 0))
        return len(self.tensors) - 1

    def constant(self, data):
        return self.tensor(data.shape, data)

    def add(self, code, inputs, shape, kind=0, **fields):
        """Add an operation; kind names its options, in which fields are set."""
        y = self.tensor(shape)
        if code not in self.codes:
            self.codes.append(code)
        self.operators.append((self.codes.index(code), inputs, y, kind, fields))
        return y

    def vector(self, start, values, put):
        start(self.b, len(values))
        for v in reversed(values):
            put(v)
        return self.b.EndVector()

    def table(self, name, **fields):
        """Write a table of the schema; values are numbers or offsets."""
        getattr(tflite, name + "Start")(self.b)
        for field, value in fields.items():
            getattr(tflite, f"{name}Add{field}")(self.b, value)
        return getattr(tflite, name + "End")(self.b)

    def options(self, kind, fields):
        name = {v: k for k, v in vars(tflite.BuiltinOptions).items()}[kind]
        return self.table(name, **fields)

    def bytes(self, inputs, output):
        b = self.b
        ints, offsets = b.PrependInt32, b.PrependUOffsetTRelative
        buffers = []
        for data in self.buffers:
            at = b.CreateByteVector(data) if data else None
            buffers.append(self.table("Buffer", **({"Data": at} if data else {})))
        tensors = []
        for i, (shape, kind, buffer) in enumerate(self.tensors):
            name, dims = b.CreateString(f"t{i}"), self.vector(tflite.TensorStartShapeVector, shape, ints)
            tensors.append(self.table("Tensor", Shape=dims, Type=kind, Buffer=buffer, Name=name))
        operators = []
        for code, ins, out, kind, fields in self.operators:
            more = {"BuiltinOptionsType": kind, "BuiltinOptions": self.options(kind, fields)} if kind else {}
            ins, out = self.vector(tflite.OperatorStartInputsVector, ins, ints), self.vector(tflite.OperatorStartOutputsVector, [out], ints)
            operators.append(self.table("Operator", OpcodeIndex=code, Inputs=ins, Outputs=out, **more))
        name = b.CreateString("main")
        graph = self.table(
            "SubGraph", Name=name,
            Tensors=self.vector(tflite.SubGraphStartTensorsVector, tensors, offsets),
            Inputs=self.vector(tflite.SubGraphStartInputsVector, inputs, ints),
            Outputs=self.vector(tflite.SubGraphStartOutputsVector, [output], ints),
            Operators=self.vector(tflite.SubGraphStartOperatorsVector, operators, offsets),
        )
        codes = [
            self.table("OperatorCode", BuiltinCode=c, DeprecatedBuiltinCode=min(c, 127), Version=1) for c in self.codes
        ]
        model = self.table(
            "Model", Version=3,
            OperatorCodes=self.vector(tflite.ModelStartOperatorCodesVector, codes, offsets),
            Subgraphs=self.vector(tflite.ModelStartSubgraphsVector, [graph], offsets),
            Buffers=self.vector(tflite.ModelStartBuffersVector, buffers, offsets),
        )
        b.Finish(model, b"TFL3")
        return bytes(b.Output())


O, K = tflite.BuiltinOperator, tflite.BuiltinOptions


def conv(case, numbers):
    m, three = Model(), case["op"] == "conv3d"
    dims = ([case["t"]] if three else []) + [case["h"], case["w"]]
    weight = numbers["weight"].reshape(case["out"], case["in"], *[3] * len(dims))
    weight = transposed(weight, 2, 3, 4, 1, 0) if three else transposed(weight, 0, 2, 3, 1)
    x = m.tensor([1, *dims, case["in"]])
    strides = {"StrideW": 1, "StrideH": 1, "DilationWFactor": 1, "DilationHFactor": 1}
    if three:
        strides |= {"StrideD": 1, "DilationDFactor": 1}
    code, kind = (O.CONV_3D, K.Conv3DOptions) if three else (O.CONV_2D, K.Conv2DOptions)
    y = m.add(code, [x, m.constant(weight), m.constant(numbers["bias"])], [1, *dims, case["out"]], kind, Padding=SAME, **strides)
    return m.bytes([x], y)


def norm(case, numbers):
    m, g, c, pixels = Model(), graphs.GROUPS, case["in"], case["h"] * case["w"]
    whole, few = [1, pixels, g, c // g], [1, 1, g, 1]
    pairs = {O.SUB: K.SubOptions, O.MUL: K.MulOptions, O.ADD: K.AddOptions}
    pair = lambda code, a, b, shape=whole: m.add(code, [a, b], shape, pairs[code])
    axes = m.constant(np.array([1, 3], "i4"))
    mean = lambda v: m.add(O.MEAN, [v, axes], few, K.ReducerOptions, KeepDims=True)
    learned = lambda v: m.constant(v.reshape(1, 1, g, c // g))
    x = m.tensor(whole)
    d = pair(O.SUB, x, mean(x))
    above = pair(O.ADD, mean(pair(O.MUL, d, d)), m.constant(np.full((1, 1, 1, 1), graphs.EPS, "f4")), few)
    y = pair(O.MUL, d, m.add(O.RSQRT, [above], few))
    y = pair(O.ADD, pair(O.MUL, y, learned(numbers["weight"])), learned(numbers["bias"]))
    return m.bytes([x], pair(O.MUL, y, m.add(O.LOGISTIC, [y], whole)))


def attention(case, _):
    m, c, n = Model(), case["in"], case["h"] * case["w"]
    q, k, v = (m.tensor([1, 1, n, c]) for _ in range(3))
    scaled = m.add(O.MUL, [q, m.constant(np.full((1, 1, 1, 1), c**-0.5, "f4"))], [1, 1, n, c], K.MulOptions)
    scores = m.add(O.BATCH_MATMUL, [scaled, k], [1, 1, n, n], K.BatchMatMulOptions, AdjY=True)
    p = m.add(O.SOFTMAX, [scores], [1, 1, n, n], K.SoftmaxOptions, Beta=1.0)
    return m.bytes([q, k, v], m.add(O.BATCH_MATMUL, [p, v], [1, 1, n, c], K.BatchMatMulOptions))


def write(folder):
    """Write the case's model to a file. A whole decoder has none."""
    case, numbers = graphs.load(folder)
    if case["op"] == "decoder":
        return
    make = {"conv3d": conv, "conv2d": conv, "norm": norm, "attention": attention}[case["op"]]
    with open(os.path.join(folder, "case.tflite"), "wb") as out:
        out.write(make(case, numbers))
