"""Writes the tensors of 16 and 8 bits in this folder, as numpy, ml_dtypes and safetensors write them:

    pip install numpy==2.4.6 ml_dtypes==0.6.0 safetensors==0.8.0 && python write_types.py

types.safetensors   q: every finite float8_e4m3fn, k: every finite float8_e5m2, v: bfloat16
types.npz           q: bfloat16, k: float8_e5m2, v: float16, by numpy.savez
types-e4m3.npy      float8_e4m3fn, by numpy.save
expected-*.npz      the values of each as float32
"""

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file


def finite(kind):
    every = np.arange(256, dtype=np.uint8).view(kind)
    return every[np.isfinite(every.astype(np.float32))].reshape(-1, 2)


e4m3, e5m2 = finite(ml_dtypes.float8_e4m3fn), finite(ml_dtypes.float8_e5m2)
random = np.random.default_rng(1).normal(size=e5m2.shape) * 2.0 ** np.linspace(-20, 15, len(e5m2))[:, None]
# Subnormals, the ends of the range.
random[:2] = [[2.0**-130, -(2.0**-133)], [3e38, -3e38]]
bf16 = random.astype(ml_dtypes.bfloat16)
half = (random * 2.0**-4).clip(-60000, 60000).astype(np.float16)

save_file({"q": e4m3, "k": e5m2, "v": bf16}, "types.safetensors")
np.savez("types.npz", q=bf16, k=e5m2, v=half)
np.save("types-e4m3.npy", e4m3)
np.savez("expected-safetensors.npz", **{n: x.astype(np.float32) for n, x in zip("qkv", (e4m3, e5m2, bf16))})
np.savez("expected-npz.npz", **{n: x.astype(np.float32) for n, x in zip("qkv", (bf16, e5m2, half))})
