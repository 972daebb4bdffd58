"""Many clips on a Ray cluster: a Ray Data actor pool, each of whose workers keeps one
`tessera batch` with its checkpoint loaded and gives it clips on standard input.

    python clips.py clips.jsonl --workers 8 -- -m /shared/Wan2.1_VAE.pth > results.jsonl

Lines of the manifest are those of docs/guides/many-clips.md, as are results. What stands
behind -- goes to `tessera batch`. Inputs, outputs and the checkpoint are URLs or lie
where every node has them, as does the program (--program). In a pipeline of one's own,
with this file in the working_dir of Ray's runtime_env:

    ray.data.read_text("clips.jsonl").map(clips.Worker, fn_constructor_args=[["-m", model]],
        compute=ray.data.ActorPoolStrategy(size=8), num_gpus=1, **clips.RESTARTS)
"""

import argparse
import json
import os
import subprocess
import sys

import ray

# Ray restarts a worker that dies, with its clip, on another node if needed. These limit
# how often; Ray's default is no limit.
RESTARTS = {"max_restarts": 5, "max_task_retries": 5}
DEVICE = 4  # exit code: another machine may succeed
AGAIN = (1, 130)  # another try may succeed; also for a program that has gone


class Worker:
    """Convert a row {"text": a line of a manifest} to a row with its name, status,
    exit_code and json, the batch's line about it."""

    def __init__(self, flags=(), program="tessera", tries=3):
        self.command = [program, "batch", "--manifest=-", "--resume", "--progress=none", *cards(), *flags]
        self.tries = tries
        self.batch = None

    def __call__(self, row):
        for _ in range(self.tries):
            outcome = self.ask(row["text"].strip())
            if outcome["exit_code"] == DEVICE:
                os._exit(DEVICE)  # an error of a UDF would not make Ray place the worker again
            if outcome["exit_code"] not in AGAIN:
                break
        return {key: outcome[key] for key in ("name", "status", "exit_code")} | {"json": json.dumps(outcome)}

    def ask(self, clip):
        """Return the outcome of a clip, with the running batch or a new one."""
        if self.batch is None or self.batch.poll() is not None:
            self.batch = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        try:
            self.batch.stdin.write(clip + "\n")
            self.batch.stdin.flush()
            line = self.batch.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line.endswith("\n"):
            return json.loads(line)
        code = self.batch.wait()
        exit_code = code if code in (2, 3, DEVICE) else AGAIN[0]  # for flags, a checkpoint or no device; otherwise killed
        return {"name": name(clip), "status": "failed", "exit_code": exit_code, "error": f"tessera batch ended with {code}"}

    def __del__(self):
        if getattr(self, "batch", None):
            self.batch.stdin.close()
            self.batch.wait()


def name(clip):
    """Return a clip's name without the secret parts of a URL."""
    try:
        clip = json.loads(clip)
        return clip.get("name") or os.path.splitext(os.path.basename(clip["input"].partition("?")[0]))[0]
    except (ValueError, KeyError, AttributeError):
        return ""


def cards():
    """Return the flags for the card that Ray gave this worker: its number is the adapter's."""
    ids = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
    return ["--adapter=" + ",".join(ids)] if ids else []


def main():
    p = argparse.ArgumentParser(usage="%(prog)s MANIFEST [options] -- FLAGS", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("manifest")
    p.add_argument("--workers", type=int, default=1, help="how many batches run at once")
    p.add_argument("--program", default="tessera")
    p.add_argument("--resource", default="GPU", help="what a worker takes one of: GPU, or a resource that the nodes were begun with")
    behind = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    o, flags = p.parse_args(sys.argv[1:behind]), sys.argv[behind + 1 :]
    with open(o.manifest, encoding="utf-8-sig") as f:  # with or without a byte order mark
        clips = [{"text": line} for line in f if line.strip()]
    takes = {"num_gpus": 1} if o.resource == "GPU" else {"resources": {o.resource: 1}}
    results = ray.data.from_items(clips, override_num_blocks=max(1, len(clips))).map(
        Worker,
        fn_constructor_args=[flags, o.program],
        compute=ray.data.ActorPoolStrategy(size=o.workers, max_tasks_in_flight_per_actor=2),
        **takes,
        **RESTARTS,
    )
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # from which Ray forwards the workers' output
    codes = set()
    for row in results.iter_rows():
        print(row["json"], file=lines, flush=True)
        codes.add(row["exit_code"])
    sys.exit(next((code for code in (1, 130, 5, 3, 2) if code in codes), 0))


if __name__ == "__main__":
    main()
