"""Writes the .npy files of this folder with NumPy (2.4.6): python make_npy.py

Each holds [3,1,2,2] (or its transpose) with the values -0.75, -0.625, ... 0.625,
which every float type holds exactly.
"""

import numpy as np

values = ((np.arange(12) - 6) / 8).reshape(3, 1, 2, 2)
for name, dtype in {"f2": "<f2", "f4": "<f4", "f8": "<f8", "big": ">f4", "int": "<i4"}.items():
    np.save(f"{name}.npy", values.astype(dtype))
np.save("fortran.npy", np.asfortranarray(values.astype("<f4")))
np.save("scalar.npy", np.float32(1))
with open("version2.npy", "wb") as f:
    np.lib.format.write_array(f, values.astype("<f4"), version=(2, 0))
