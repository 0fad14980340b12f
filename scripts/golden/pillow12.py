#!/usr/bin/env python3
"""Writes the right answers of compat = "pillow-12" to tests/golden/pillow-12/.

Needs Pillow 12 and NumPy, apart from what images.py needs: pip install 'pillow==12.*' numpy.
Pillow 12 and older resize along rows first, whatever the sizes.
"""

import sys

import numpy as np
import PIL
from PIL import Image

from answers import Answers

assert PIL.__version__.startswith("12."), "the answers are those of Pillow 12"
rng = np.random.default_rng(12)
answers = Answers("pillow-12")

# More rows dropped than columns, by much: those that Pillow 13 does the other way round. And some
# that both do alike.
SHAPES = [
    ((60, 12), (11, 16)),
    ((50, 44), (12, 40)),
    ((40, 21), (17, 19)),
    ((41, 30), (17, 13)),
    ((9, 7), (20, 31)),
    ((30, 15), (9, 15)),
]
FILTERS = ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
for (height, width), (to_height, to_width) in SHAPES:
    for mode, channels in [("L", 1), ("LA", 2), ("RGB", 3), ("RGBA", 4), ("F", 1), ("I;16", 1)]:
        if mode == "F":
            array = rng.normal(0, 1, (height, width, 1)).astype(np.float32)
        elif mode == "I;16":
            array = rng.integers(0, 65536, (height, width, 1), dtype=np.uint16)
        else:
            array = rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
        number = answers.give(array)
        image = Image.fromarray(array[..., 0] if channels == 1 else array)
        assert image.mode == mode
        for name in FILTERS:
            resized = np.array(image.resize((to_width, to_height), Image.Resampling[name.upper()]))
            resized = resized.reshape(to_height, to_width, channels)
            parameters = {"size": [to_height, to_width], "filter": name, "compat": "pillow-12"}
            answers.answer(number, "resize", parameters, resized)
answers.write(
    {"python": sys.version.split()[0], "numpy": np.__version__, "pillow": PIL.__version__}
)
