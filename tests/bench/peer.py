# The peer's side of the benchmark: onnxruntime's WebGPU provider, with no way
# to fall back to the processor. The Vulkan loader picks the adapter.
import sys
import time

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

source, sink = sys.stdin.buffer, sys.stdout.buffer


def say(text):
    sink.write(text.encode() + b"\n")
    sink.flush()


def array(*shape):
    n = 4 * int(np.prod(shape))
    return np.frombuffer(source.read(n), "<f4").reshape(shape)


def convolution(weight, bias, shape):
    node = helper.make_node("Conv", ["x", "weight", "bias"], ["y"], pads=[1] * 6)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xy")
    constants = [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")]
    graph = helper.make_graph([node], "conv3d", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return ort.InferenceSession(model.SerializeToString(), options, providers=["WebGpuExecutionProvider"])


say(f"onnxruntime-webgpu {ort.__version__}")
for line in iter(source.readline, b""):
    command, *numbers = line.split()
    if command == b"open":
        c, t, h, w = map(int, numbers)
        x, weight, bias = array(1, c, t, h, w), array(c, c, 3, 3, 3), array(c)
        session = convolution(weight, bias, x.shape)
        sink.write(session.run(None, {"x": x})[0].astype("<f4").tobytes())
        sink.flush()
    else:
        best = float("inf")
        for _ in range(int(numbers[0])):
            start = time.perf_counter()
            session.run(None, {"x": x})
            best = min(best, time.perf_counter() - start)
        say(repr(best))
