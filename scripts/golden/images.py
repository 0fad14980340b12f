#!/usr/bin/env python3
"""Writes the right answers for the image steps to tests/golden/images/.

Needs Pillow 13 and NumPy: pip install 'pillow==13.*' numpy. Pillow is the reference for decoding,
resizing and gray. torchvision isn't installed: its arithmetic (ToTensor, Normalize, CenterCrop)
is short and written out here in NumPy's float32 and Python's round().
"""

import io
import struct
import sys
import zlib

import numpy as np
import PIL
from PIL import Image, ImageOps, features

from answers import Answers

assert PIL.__version__.startswith("13."), "the answers are those of Pillow 13"
rng = np.random.default_rng(2026)
answers = Answers("images")
give, answer = answers.give, answers.answer


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


def decode(name, data, by_mode=None):
    answers.file(name, data)
    for mode in ["rgb", "l", "rgba"]:
        if by_mode is None:
            array = np.array(Image.open(io.BytesIO(data)).convert(mode.upper()))
        elif mode in by_mode:
            array = by_mode[mode]
        else:
            continue
        answers.decode(name, {"mode": mode}, array)


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
start, length = adobe - 15, 16
assert cmyk[start : start + 2] == b"\xff\xee"
decode("cmyk_unmarked.jpg", cmyk[:start] + cmyk[start + length :])

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


def four_components(planes, sampling, transform):
    """A JPEG of four components at lower resolutions, which Pillow can't write; flat tables throughout."""
    height, width = planes[0].shape
    most_v, most_h = max(v for v, _ in sampling), max(h for _, h in sampling)
    down, across = -(-height // (8 * most_v)), -(-width // (8 * most_h))
    matrix = np.array([[np.cos((2 * x + 1) * u * np.pi / 16) / 2 for x in range(8)] for u in range(8)])
    matrix[0] /= np.sqrt(2)
    order = sorted(range(64), key=lambda n: (n // 8 + n % 8, n // 8 if (n // 8 + n % 8) % 2 else n % 8))
    sizes = [0x00, 0xF0] + [run << 4 | size for run in range(16) for size in range(1, 11)]
    bits, last = [], [0] * 4

    def put(value, count):
        bits.extend(value >> n & 1 for n in reversed(range(count)))

    def number(value, size):
        put(value if value > 0 else value + (1 << size) - 1, size)

    def block(component, pixels):
        levels = np.round(matrix @ (pixels - 128.0) @ matrix.T / 4).astype(int).ravel()[order].tolist()
        difference, last[component] = levels[0] - last[component], levels[0]
        size = abs(difference).bit_length()
        put(size, 4)
        number(difference, size)
        run = 0
        for level in levels[1:]:
            if level == 0:
                run += 1
                continue
            while run > 15:
                put(1, 8)
                run -= 16
            size = abs(level).bit_length()
            put(sizes.index(run << 4 | size), 8)
            number(level, size)
            run = 0
        if run:
            put(0, 8)

    small = []
    for plane, (v, h) in zip(planes, sampling):
        whole = np.pad(plane, ((0, down * 8 * most_v - height), (0, across * 8 * most_h - width)), "edge")
        small.append(whole[:: most_v // v, :: most_h // h].astype(float))
    for y in range(down):
        for x in range(across):
            for component, (v, h) in enumerate(sampling):
                for n in range(v * h):
                    top, left = (y * v + n // h) * 8, (x * h + n % h) * 8
                    block(component, small[component][top : top + 8, left : left + 8])
    bits += [1] * (-len(bits) % 8)
    scan = np.packbits(bits).tobytes().replace(b"\xff", b"\xff\0")

    def segment(marker, data):
        return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data

    frame = struct.pack(">BHHB", 8, height, width, 4)
    frame += b"".join(bytes([n + 1, h << 4 | v, 0]) for n, (v, h) in enumerate(sampling))
    tables = bytes([0x00] + [0, 0, 0, 12] + [0] * 12 + list(range(12)))
    tables += bytes([0x10] + [0] * 7 + [162] + [0] * 8 + sizes)
    return b"".join(
        [
            b"\xff\xd8",
            segment(0xEE, b"Adobe\0\x64\0\0\0\0" + bytes([transform])),
            segment(0xDB, b"\0" + b"\4" * 64),
            segment(0xC0, frame),
            segment(0xC4, tables),
            segment(0xDA, b"\4\1\0\2\0\3\0\4\0\0\x3f\0"),
            scan,
            b"\xff\xd9",
        ]
    )


four = picture(29, 43, 4)
for name, high in [("420", (2, 2)), ("422", (1, 2)), ("440", (2, 1)), ("411", (1, 4))]:
    sampling = [high, (1, 1), (1, 1), high]
    decode(f"ycck_{name}.jpg", four_components([four[..., n] for n in range(4)], sampling, 2))
    narrow = [four[:21, :3, n] for n in range(4)]
    decode(f"ycck_{name}_narrow.jpg", four_components(narrow, sampling, 2))
sampling = [(2, 2), (1, 1), (1, 1), (2, 1)]
decode("cmyk_420.jpg", four_components([four[..., n] for n in range(4)], sampling, 0))

for kind, form, options in [
    ("rgb_rle", "TGA", {"compression": "tga_rle"}),
    ("rgb", "TGA", {}),
    ("rgb_top", "TGA", {"orientation": 1}),
]:
    decode(f"{kind}.tga", saved(image(small), form, **options))
for channels in [1, 2, 4]:
    im = image(picture(9, 11, channels))
    decode(f"{im.mode.lower()}.tga", saved(im, "TGA", compression="tga_rle"))
decode("p.tga", saved(image(small).quantize(9), "TGA"))
decode("palette.tif", saved(image(small).quantize(9), "TIFF", compression="tiff_adobe_deflate"))
decode("zstd.tif", saved(image(small), "TIFF", compression="zstd"))
decode("1.tif", saved(image(rgb).convert("1"), "TIFF", compression="group4"))
decode("1_fax3.tif", saved(image(rgb).convert("1"), "TIFF", compression="group3"))
decode("jpeg.tif", saved(image(rgb), "TIFF", compression="jpeg"))
decode("cmyk.tif", saved(image(small).convert("CMYK"), "TIFF", compression="packbits"))
decode("la.tif", saved(image(picture(9, 11, 2)), "TIFF"))
decode("bits.ico", saved(image(picture(20, 20, 4)), "ICO", sizes=[(16, 16), (20, 20)], bitmap_format="bmp"))
decode("plain.ppm", b"P3 # text\n3 2\n7\n" + b" ".join(b"%d" % (n % 8) for n in range(18)) + b"\n")
decode("seven.pgm", b"P5\n4 2\n7\n" + bytes(range(8)))
decode("plain.pbm", b"P1\n5 2\n10110\n0 1 0 0 1\n")
decode("bits.pbm", saved(image(rgb).convert("1"), "PPM"))

# The tag in each kind of file that can have it, and values that aren't there.
for orientation in range(10):
    exif = Image.Exif()
    exif[0x0112] = orientation
    for name, form, options in [("jpg", "JPEG", {}), ("png", "PNG", {}), ("webp", "WEBP", {"lossless": True}), ("tif", "TIFF", {})]:
        data = saved(image(picture(6, 9, 3)), form, exif=exif, **options)
        answers.file(f"turned_{orientation}.{name}", data)
        opened = Image.open(io.BytesIO(data))
        answers.decode(f"turned_{orientation}.{name}", {}, np.array(opened.convert("RGB")))
        turned = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
        answers.decode(f"turned_{orientation}.{name}", {"orientation": "apply"}, np.array(turned))

# Not Pillow's answers, which has no such mode: the 16 bits themselves, and 8 bits times 257.
keep = {"bits16": "keep"}
answers.decode("rgb16.png", keep, wide)
answers.decode("l16.png", keep | {"mode": "l"}, wide[..., :1])
answers.decode("rgba.png", keep | {"mode": "rgba"}, np.array(Image.open(answers.root / "files/rgba.png")).astype(np.uint16) * 257)
for name, array in [("l16.tif", wide[..., 0]), ("l16.pgm", wide[..., 1])]:
    answers.file(name, saved(Image.fromarray(np.ascontiguousarray(array)), "TIFF" if name.endswith("tif") else "PPM"))
    answers.decode(name, keep, array[..., None].repeat(3, 2))
    answers.decode(name, {"mode": "l"}, (array >> 8).astype(np.uint8))


# --- steps on arrays ------------------------------------------------------------------------


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
for (height, width), (to_height, to_width) in SHAPES:
    # Extremes, so that some filters go beyond them.
    array = rng.choice(np.array([0, 40000, 65535], np.uint16), (height, width, 2))
    number = give(array)
    for name in FILTERS:
        planes = [Image.fromarray(np.ascontiguousarray(array[..., c])) for c in range(2)]
        assert planes[0].mode == "I;16"
        resample = Image.Resampling[name.upper()]
        resized = [np.array(plane.resize((to_width, to_height), resample)) for plane in planes]
        answer(number, "resize", {"size": [to_height, to_width], "filter": name}, np.stack(resized, 2))
for (height, width), (to_height, to_width) in SHAPES[3:]:
    array = rng.normal(0, 1, (height, width, 1)).astype(np.float32)
    number = give(array)
    for name in FILTERS:
        resized = Image.fromarray(array[..., 0]).resize((to_width, to_height), Image.Resampling[name.upper()])
        answer(number, "resize", {"size": [to_height, to_width], "filter": name}, np.array(resized)[..., None])
for height, width in [(9, 14), (14, 9), (11, 11), (5, 70)]:
    # Both ways, and to the length that it has.
    for side in [4, 9, 23]:
        short, long = min(height, width), max(height, width)
        to = side, int(side * long / short)
        to_height, to_width = to if height <= width else to[::-1]
        array = picture(height, width, 3)
        number = give(array)
        for name in FILTERS:
            resized = image(array).resize((to_width, to_height), Image.Resampling[name.upper()])
            answer(number, "resize", {"short_side": side, "filter": name}, np.array(resized))
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

answers.write(
    {
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "pillow": PIL.__version__,
        "libjpeg_turbo": features.version("libjpeg_turbo"),
    }
)
