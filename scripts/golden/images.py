#!/usr/bin/env python3
"""Writes the right answers for the image steps to tests/golden/images/.

Needs Pillow 13 and NumPy: pip install 'pillow==13.*' numpy. Pillow is the reference for decoding,
resizing and gray. torchvision isn't installed: its arithmetic (ToTensor, Normalize, CenterCrop)
is short and written out here in NumPy's float32 and Python's round().

    manifest.json   versions, and the cases in the order of their answers
    files/          compressed pictures, made here
    inputs.bin      arrays that steps are given, one after the other
    outputs.bin     the answers, one after the other
"""

import io
import json
import pathlib
import struct
import sys
import zlib

import numpy as np
import PIL
from PIL import Image, features

assert PIL.__version__.startswith("13."), "the answers are those of Pillow 13"
ROOT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/images"
FILES = ROOT / "files"
FILES.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(2026)
outputs, decodes, inputs, steps = [], [], [], []


def picture(height, width, channels):
    """Smooth colours with some noise and hard edges: something for every filter to get wrong."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        wave = 127 + 90 * np.sin(x / (3 + c)) * np.cos(y / (5 - c % 3))
        wave += 60 * ((x // 7 + y // 5 + c) % 2) + rng.normal(0, 12, (height, width))
        planes.append(wave)
    return np.clip(np.stack(planes, 2), 0, 255).astype(np.uint8)


def image(array):
    mode = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[array.shape[2]]
    return Image.fromarray(array[..., 0] if mode == "L" else array, mode)


# --- decode_image ---------------------------------------------------------------------------


def decode(name, data, answers=None):
    (FILES / name).write_bytes(data)
    for mode in ["rgb", "l", "rgba"]:
        if answers is None:
            array = np.array(Image.open(io.BytesIO(data)).convert(mode.upper()))
        elif mode in answers:
            array = answers[mode]
        else:
            continue
        array = array.reshape(*array.shape[:2], -1)
        decodes.append({"file": name, "mode": mode, "shape": array.shape})
        outputs.append(array.astype(np.uint8).tobytes())


def saved(im, form, **options):
    out = io.BytesIO()
    im.save(out, form, **options)
    return out.getvalue()


def png(width, height, depth, color, rows, interlaced=False):
    """A PNG of raw rows (lists of bytes objects, one per row and pass), for what Pillow can't write."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced))
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


rgb = picture(27, 37, 3)
for name, sampling in [("444", 0), ("422", 1), ("420", 2)]:
    decode(f"{name}.jpg", saved(image(rgb), "JPEG", quality=88, subsampling=sampling))
    progressive = saved(image(rgb), "JPEG", quality=75, subsampling=sampling, progressive=True)
    decode(f"{name}_progressive.jpg", progressive)
decode("gray.jpg", saved(image(rgb).convert("L"), "JPEG"))
cmyk = saved(Image.frombytes("CMYK", (37, 27), picture(27, 37, 4).tobytes()), "JPEG", quality=90)
decode("cmyk.jpg", cmyk)
# The same coefficients, said to be YCCK by the last byte of the Adobe segment.
adobe = cmyk.index(b"Adobe") + 11
assert cmyk[adobe] == 0
decode("ycck.jpg", cmyk[:adobe] + b"\2" + cmyk[adobe + 1 :])

for channels in [1, 2, 3, 4]:
    im = image(picture(19, 23, channels))
    decode(f"{im.mode.lower()}.png", saved(im, "PNG"))
palette = image(rgb).quantize(50)
decode("p.png", saved(palette, "PNG"))
decode("p_trns.png", saved(palette, "PNG", transparency=bytes(range(0, 250, 5))))
decode("p4.png", saved(image(rgb).quantize(11), "PNG"))
decode("1.png", saved(image(rgb).convert("1"), "PNG"))

wide = rng.integers(0, 65536, (9, 11, 3), dtype=np.uint16)
high = (wide >> 8).astype(np.uint8)
decode("rgb16.png", png(11, 9, 16, 2, [row.astype(">u2").tobytes() for row in wide]))
# Not Pillow's answer: it cuts 16-bit gray off at 255, we take the high byte.
gray = high[..., :1]
decode(
    "l16.png",
    png(11, 9, 16, 0, [row[:, 0].astype(">u2").tobytes() for row in wide]),
    {"rgb": gray.repeat(3, 2), "l": gray},
)
passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
small = picture(13, 10, 3)
rows = [row.tobytes() for x, y, dx, dy in passes for row in small[y::dy, x::dx] if row.size]
decode("interlaced.png", png(10, 13, 8, 2, rows, interlaced=True))

decode("rgb.bmp", saved(image(small), "BMP"))
decode("p.bmp", saved(image(small).quantize(9), "BMP"))
decode("p.gif", saved(image(rgb).quantize(60), "GIF"))
decode("p_transparent.gif", saved(image(rgb).quantize(60), "GIF", transparency=3))
decode("rgb.tif", saved(image(small), "TIFF", compression="tiff_lzw"))
decode("l.tif", saved(image(small).convert("L"), "TIFF"))
decode("lossless.webp", saved(image(small), "WEBP", lossless=True))
decode("rgb.ppm", saved(image(small), "PPM"))
decode("l.pgm", saved(image(small).convert("L"), "PPM"))
decode("rgba.ico", saved(image(picture(16, 16, 4)), "ICO", sizes=[(16, 16)]))


# --- steps on arrays ------------------------------------------------------------------------


def give(array):
    inputs.append({"dtype": str(array.dtype), "shape": array.shape, "data": array.tobytes()})
    return len(inputs) - 1


def answer(number, name, parameters, array):
    steps.append(
        {
            "input": number,
            "step": name,
            "parameters": parameters,
            "dtype": str(array.dtype),
            "shape": array.shape,
        }
    )
    outputs.append(np.ascontiguousarray(array).tobytes())


# Down, up, mixed (both orders of passes), one side kept, nothing changed, one pixel.
SHAPES = [
    ((41, 30), (17, 13)),
    ((9, 7), (20, 31)),
    ((60, 12), (11, 16)),
    ((12, 40), (19, 9)),
    ((50, 44), (12, 20)),
    ((15, 22), (15, 9)),
    ((22, 15), (9, 15)),
    ((8, 8), (8, 8)),
    ((5, 6), (1, 1)),
    ((1, 1), (4, 3)),
]
FILTERS = ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]
for (height, width), (to_height, to_width) in SHAPES:
    for channels in [1, 2, 3, 4]:
        array = picture(height, width, channels)
        number = give(array)
        for name in FILTERS:
            resized = image(array).resize((to_width, to_height), Image.Resampling[name.upper()])
            resized = np.array(resized).reshape(to_height, to_width, channels)
            answer(number, "resize", {"size": [to_height, to_width], "filter": name}, resized)
for (height, width), (to_height, to_width) in SHAPES[:3]:
    array = rng.normal(0, 1, (height, width, 2)).astype(np.float32)
    number = give(array)
    for name in FILTERS:
        planes = [Image.fromarray(array[..., c]) for c in range(2)]
        resample = Image.Resampling[name.upper()]
        resized = [np.array(plane.resize((to_width, to_height), resample)) for plane in planes]
        answer(number, "resize", {"size": [to_height, to_width], "filter": name}, np.stack(resized, 2))
for height, width in [(30, 41), (41, 30), (33, 33)]:
    array = picture(height, width, 3)
    short, long = min(height, width), max(height, width)
    to = 16, int(16 * long / short)
    to_height, to_width = to if height <= width else to[::-1]
    resized = np.array(image(array).resize((to_width, to_height), Image.Resampling.BILINEAR))
    answer(give(array), "resize", {"short_side": 16}, resized)

for height in range(8, 16):
    array = picture(height, 9, 3)
    pad_top, pad_left = max(0, 10 - height) // 2, 0
    padded = np.zeros((max(height, 10), 9, 3), np.uint8)
    padded[pad_top : pad_top + height] = array
    top = int(round((padded.shape[0] - 10) / 2.0))
    left = int(round((9 - 4) / 2.0))
    answer(give(array), "center_crop", {"size": [10, 4]}, padded[top : top + 10, left : left + 4])

array = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
number = give(array)
answer(number, "grayscale", {}, np.array(image(array).convert("L"))[..., None])
answer(number, "grayscale", {"channels": 3}, np.array(image(array).convert("L").convert("RGB")))
f = np.float32
scaled = array.astype(f) / f(255)
answer(number, "to_float", {}, scaled)
answer(number, "pixel_center", {}, array.astype(f) / f(127.5) - f(1))
answer(number, "to_chw", {}, array.transpose(2, 0, 1))
mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
normalized = (scaled - np.array(mean, f)) / np.array(std, f)
answer(number, "normalize", {"mean": mean, "std": std}, normalized)
answer(give(scaled), "normalize", {"mean": mean, "std": std}, normalized)
r, g, b = (scaled[..., c] for c in range(3))
answer(give(scaled), "grayscale", {}, (f(0.2989) * r + f(0.587) * g + f(0.114) * b)[..., None])
for dtype in ["uint8", "uint16", "int16", "int32", "int64", "float16", "float32", "float64"]:
    answer(number, "cast", {"dtype": dtype}, array.astype(dtype))

(ROOT / "inputs.bin").write_bytes(b"".join(entry.pop("data") for entry in inputs))
(ROOT / "outputs.bin").write_bytes(b"".join(outputs))
manifest = {
    "made_with": {
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "pillow": PIL.__version__,
        "libjpeg_turbo": features.version("libjpeg_turbo"),
    },
    "decodes": decodes,
    "inputs": inputs,
    "steps": steps,
}
lines = ["{"]
for key, value in manifest.items():
    if isinstance(value, list):
        body = ",\n".join(f"  {json.dumps(entry)}" for entry in value)
        lines.append(f' "{key}": [\n{body}\n ],')
    else:
        lines.append(f' "{key}": {json.dumps(value)},')
lines[-1] = lines[-1].rstrip(",")
(ROOT / "manifest.json").write_text("\n".join([*lines, "}"]) + "\n")
print(f"{len(decodes)} decodes and {len(steps)} steps, made with {manifest['made_with']}")
