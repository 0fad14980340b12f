"""One epoch of a mounted folder with JAX: python jax_batches.py MOUNT/train"""

import sys
from pathlib import Path

import jax
import numpy as np

files = np.array(sorted(str(file) for file in Path(sys.argv[1]).rglob("*.npy")))
order = np.random.default_rng(0).permutation(len(files))
mean = jax.jit(lambda batch: batch.mean(axis=(0, 1, 2)))

samples = 0
for start in range(0, len(files), 32):
    chosen = files[order[start : start + 32]]
    batch = jax.device_put(np.stack([np.load(file) for file in chosen]))
    last = mean(batch)
    samples += len(batch)

print(f"{samples} samples of {batch.shape[1:]} {batch.dtype}, mean of the last batch {last}")
