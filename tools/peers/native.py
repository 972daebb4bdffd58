"""The peer's native side: onnxruntime's WebGPU provider, without fallback to the
processor. It reads one order per line and answers with one line; numbers are files of
f32. The Vulkan loader selects the adapter.

    graphs DIR   writes the graphs of the case in DIR (case.json and *.bin), and its
                 model for LiteRT.js
    open DIR     writes the graphs and sets them up; NAME's output is DIR/NAME.out.
                 The answer has their names, the seconds of their first run, and the errors
             by name
    run NAME N   runs N times: seconds each
    close        forgets the case
"""

import json
import os
import sys
import time

import onnxruntime as ort

import graphs
import lite

PEER = "onnxruntime-webgpu"


def session(path):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return ort.InferenceSession(path, options, providers=["WebGpuExecutionProvider"])


def opened(folder):
    """The sessions of a case by name, the inputs, the first seconds, and the errors."""
    found, first, errors = {}, {}, {}
    paths, feeds = graphs.write(folder)
    for graph, path in paths.items():
        if found and graph.endswith("-in-parts"):  # only needed if the whole graph fails
            continue
        name = f"{PEER}:{graph}"
        try:
            one = session(path)
            start = time.perf_counter()
            output = one.run(None, feeds)[0]
            first[name] = time.perf_counter() - start
            output.astype("<f4").tofile(os.path.join(folder, name + ".out"))
            found[name] = one
        except Exception as reason:
            errors[name] = " ".join(str(reason).split())
    return found, feeds, first, errors


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    ort.set_default_logger_severity(4)
    say({PEER: ort.__version__})
    found, feeds = {}, {}
    for line in sys.stdin:
        order, *words = line.split()
        if order == "graphs":
            lite.write(words[0])
            say(list(graphs.write(words[0])[0]))
        elif order == "open":
            found, feeds, first, errors = opened(words[0])
            say({"names": list(found), "first": first, "errors": errors})
        elif order == "run":
            took = []
            for _ in range(int(words[1])):
                start = time.perf_counter()
                found[words[0]].run(None, feeds)
                took.append(time.perf_counter() - start)
            say(took)
        else:
            found, feeds = {}, {}
            say("closed")


main()
