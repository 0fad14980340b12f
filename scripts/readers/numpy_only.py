"""Reads every sample of a mounted folder with NumPy alone: python numpy_only.py MOUNT/train"""

import sys
from pathlib import Path

import numpy as np

files = sorted(Path(sys.argv[1]).rglob("*.npy"))
total = np.zeros(3)
for file in files:
    sample = np.load(file)
    total += sample.reshape(-1, sample.shape[-1]).mean(axis=0)

print(f"{len(files)} samples of {sample.shape} {sample.dtype}, mean {total / len(files)}")
