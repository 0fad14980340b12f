#!/usr/bin/env python3
"""Writes the right answers of compat = "tensorflow" to tests/golden/tensorflow/.

Needs TensorFlow and Pillow, which writes the files: pip install tensorflow-cpu 'pillow==13.*'.
Every answer is what a `tf.data` pipeline makes, as in PRESTO.
"""

import io
import sys

import numpy as np
import PIL
from PIL import Image

sys.path.append(sys.path.pop(0))  # This file must not be what `import tensorflow` finds.
import tensorflow as tf  # noqa: E402

from answers import Answers  # noqa: E402

rng = np.random.default_rng(2026)
answers = Answers("tensorflow")
COMPAT = {"compat": "tensorflow"}


def mapped(function, value):
    dataset = tf.data.Dataset.from_tensors(value).map(function)
    return next(iter(dataset)).numpy()


def picture(height, width, channels, noise=12):
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        wave = 127 + 90 * np.sin(x / (3 + c)) * np.cos(y / (5 - c % 3))
        wave += 60 * ((x // 7 + y // 5 + c) % 2) + rng.normal(0, noise, (height, width))
        planes.append(wave)
    return np.clip(np.stack(planes, 2), 0, 255).astype(np.uint8)


# --- decode_image ---------------------------------------------------------------------------


def decode(name, data):
    answers.file(name, data)
    read = lambda data: tf.io.decode_image(data, channels=3, expand_animations=False)
    answers.decode(name, COMPAT, mapped(read, data))


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


rgb = Image.fromarray(picture(37, 51, 3))
noise = Image.fromarray(rng.integers(0, 256, (40, 56, 3), dtype=np.uint8))
extremes = Image.fromarray((rng.integers(0, 2, (48, 48, 3)) * 255).astype(np.uint8))
for name, sampling in [("444", 0), ("422", 1), ("420", 2)]:
    decode(f"{name}.jpg", saved(rgb, "JPEG", quality=85, subsampling=sampling))
    decode(f"{name}_noise.jpg", saved(noise, "JPEG", quality=95, subsampling=sampling))
    progressive = saved(rgb, "JPEG", quality=75, subsampling=sampling, progressive=True)
    decode(f"{name}_progressive.jpg", progressive)
for quality in [3, 30, 100]:
    decode(f"extremes_{quality}.jpg", saved(extremes, "JPEG", quality=quality, subsampling=2))
decode("gray.jpg", saved(rgb.convert("L"), "JPEG"))
cmyk = saved(Image.frombytes("CMYK", (37, 27), picture(27, 37, 4).tobytes()), "JPEG", quality=90)
decode("cmyk.jpg", cmyk)
adobe = cmyk.index(b"Adobe") - 4
length = int.from_bytes(cmyk[adobe + 2 : adobe + 4])
decode("cmyk_unmarked.jpg", cmyk[:adobe] + cmyk[adobe + 2 + length :])
decode("rgba.png", saved(Image.fromarray(picture(11, 13, 4)), "PNG"))
decode("l.png", saved(Image.fromarray(picture(11, 13, 1)[..., 0]), "PNG"))
decode("p.png", saved(Image.fromarray(picture(11, 13, 3)).quantize(20), "PNG"))
wide = Image.fromarray(rng.integers(0, 65536, (9, 11), dtype=np.uint16))
decode("l16.png", saved(wide, "PNG"))
decode("p.gif", saved(rgb.quantize(40), "GIF"))
transparent = saved(rgb.quantize(40), "GIF", transparency=3)
decode("transparent.gif", transparent)
# The size that the file says it has is not looked at.
decode("small.gif", transparent[:6] + bytes([90, 0, 70, 0]) + transparent[10:])
decode("rgb.bmp", saved(Image.fromarray(picture(11, 13, 3)), "BMP"))

# --- resize ---------------------------------------------------------------------------------

SHAPES = [
    ((41, 30), (17, 13)),
    ((9, 7), (20, 31)),
    ((60, 12), (11, 16)),
    ((12, 40), (19, 9)),
    ((15, 22), (15, 9)),
    ((22, 15), (9, 15)),
    ((5, 6), (1, 1)),
    ((1, 1), (4, 3)),
    ((90, 70), (64, 50)),
]
for (height, width), size in SHAPES:
    arrays = [picture(height, width, channels) for channels in [1, 3, 4]]
    arrays.append(rng.integers(0, 65536, (height, width, 3), dtype=np.uint16))
    arrays.append(rng.normal(0, 1, (height, width, 2)).astype(np.float32))
    for array in arrays:
        number = answers.give(array)
        for name in ["bilinear", "nearest"]:
            resized = mapped(lambda image: tf.image.resize(image, size, method=name), array)
            answers.answer(number, "resize", {"size": size, "filter": name} | COMPAT, resized)


def presto(short):
    """`_minsize_scale` of PRESTO's image pipelines, before its cast to uint8."""

    def scale(image):
        shape = tf.shape(image)
        h, w = shape[0], shape[1]
        scaler = tf.constant(short, tf.float32) / tf.cast(tf.math.reduce_min([h, w]), tf.float32)
        new_h = tf.cast(tf.cast(h, tf.float32) * scaler, tf.int32)
        new_w = tf.cast(tf.cast(w, tf.float32) * scaler, tf.int32)
        return tf.image.resize(image, [new_h, new_w])

    return scale


# 41, 47, 55 and 61 become 255 instead of 256; here 32 instead of 33, and others.
for height, width, short in [(41, 30, 33), (30, 41, 33), (41, 44, 33), (47, 50, 29), (61, 70, 31), (9, 9, 20)]:
    array = picture(height, width, 3)
    number = answers.give(array)
    resized = mapped(presto(short), array)
    answers.answer(number, "resize", {"short_side": short} | COMPAT, resized)
    whole = mapped(lambda image: tf.cast(image, tf.uint8), resized)
    answers.answer(answers.give(resized), "cast", {"dtype": "uint8"}, whole)

# --- pixels ---------------------------------------------------------------------------------

array = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
number = answers.give(array)
answers.answer(number, "to_float", COMPAT, mapped(lambda i: tf.image.convert_image_dtype(i, tf.float32), array))
answers.answer(number, "grayscale", COMPAT, mapped(tf.image.rgb_to_grayscale, array))
answers.answer(number, "pixel_center", {}, mapped(lambda i: tf.cast(i, tf.float32) / 127.5 - 1.0, array))
wide = rng.integers(0, 65536, (16, 16, 1), dtype=np.uint16)
wide_float = mapped(lambda i: tf.image.convert_image_dtype(i, tf.float32), wide)
answers.answer(answers.give(wide), "to_float", COMPAT, wide_float)
floats = rng.random((16, 16, 3)).astype(np.float32)
answers.answer(answers.give(floats), "grayscale", COMPAT, mapped(tf.image.rgb_to_grayscale, floats))

answers.write(
    {
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "pillow": PIL.__version__,
        "tensorflow": tf.__version__,
    }
)
