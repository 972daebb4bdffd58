"""Decodes with the program in the installed package; the result must equal the command line's.

    python tools/clients/wheel.py TESSERA CHECKPOINT
"""

import os
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution

import numpy
import tessera_vae
from tessera_vae._program import find

tessera, checkpoint = sys.argv[1:]
common = ["--precision", "f32", "--no-tune"]
own = find()
assert "site-packages" in own, own
there = subprocess.run([own, "--version"], capture_output=True, text=True, check=True).stdout.strip()
scripts = sysconfig.get_path("scripts")
for command in [f"{scripts}/tessera"], [f"{scripts}/tessera-vae"], [sys.executable, "-m", "tessera_vae"]:
    assert subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout.strip() == there, command
assert subprocess.run([f"{scripts}/tessera", "decode", "--none"], capture_output=True).returncode == 2
assert tessera_vae.__version__ == distribution("tessera-vae").version
files = distribution("tessera-vae").files
assert all(f.locate().exists() for f in files) and any("licenses/dawn.txt" in str(f) for f in files)
z = numpy.random.default_rng(7).standard_normal((1, 16, 2, 2, 3), numpy.float32)
elsewhere = {name: os.environ.pop(name, None) for name in ("TESSERA_DAWN", "XDG_CACHE_HOME")}
os.environ["XDG_CACHE_HOME"] = os.path.abspath("cache")  # a cache without Dawn
with tessera_vae.Program(checkpoint, arguments=common) as vae:
    pixels = vae.decode(z)
del os.environ["XDG_CACHE_HOME"]
os.environ.update({name: value for name, value in elsewhere.items() if value is not None})
numpy.save("z.npy", z[0])
subprocess.run([tessera, "decode", "-m", checkpoint, *common, "-q", "--scale", "pipeline", "z.npy", "-o", "out.npy"], check=True)
assert pixels[0].tobytes() == numpy.load("out.npy").tobytes()
print(f"wheel: {there} in {len(files)} files of {distribution('tessera-vae').version}")
