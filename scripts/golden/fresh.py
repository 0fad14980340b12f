#!/usr/bin/env python3
"""Prints what Pillow makes of every picture whose path is a line of the standard input.

For each, four words: the SHA-256 of its bytes as RGB, L and RGBA, and as RGB after exif_transpose,
each with its size in front (`37x21:…`); or `error`. Gray of more than 8 bits is not what Pillow's
`convert` makes of it, which cuts it off at 255, but its high bytes: the one difference on purpose.
"""

import hashlib
import sys
import warnings

import numpy as np
from PIL import Image, ImageOps

warnings.simplefilter("ignore")


def high_bytes(image):
    """Gray of 8 bits and whether it is transparent, of an image of more; else None."""
    bits = getattr(image, "tag_v2", {}).get(258, (16,))[0]
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PPM"):
        values = np.array(image).astype(np.int64)
        alpha = np.where(values == image.info.get("transparency", -1), 0, 255)
        return (values >> (4 if bits == 12 else 8)).astype(np.uint8), alpha.astype(np.uint8)
    return None


def pixels(path, mode, turn=False):
    image = Image.open(path)
    image.load()
    gray = high_bytes(image)
    if gray is None:
        if turn:
            image = ImageOps.exif_transpose(image)
        return np.array(image.convert(mode))
    if mode == "L":
        return gray[0]
    return np.dstack([gray[0]] * 3 + ([gray[1]] if mode == "RGBA" else []))


def word(*arguments):
    try:
        array = pixels(*arguments)
    except Exception:
        return "error"
    height, width = array.shape[:2]
    return f"{height}x{width}:{hashlib.sha256(array.tobytes()).hexdigest()}"


for line in sys.stdin:
    path = line.rstrip("\n")
    print(word(path, "RGB"), word(path, "L"), word(path, "RGBA"), word(path, "RGB", True))
