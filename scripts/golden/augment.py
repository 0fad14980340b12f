#!/usr/bin/env python3
"""Writes the right answers for the augmentation steps to tests/golden/augment/.

Needs torchvision 0.29.2 and Pillow 13: pip install torch==2.15.0 torchvision==0.29.2 'pillow==13.*'
numpy. Everything in there is made by torchvision itself on Pillow pictures (erasing: on tensors).

    manifest.json   versions; inputs; the cases in the order of their answers; torchvision's tables
    inputs.bin      pictures, one after the other
    outputs.bin     the answers, one after the other

Floats are kept as text, since not every reader of JSON reads them to the last bit.

    augment.py DIR PICTURES SEED

writes random cases instead, for as many pictures, to be compared by the same test:
PARBAKE_AUGMENT_GOLDEN=DIR PARBAKE_AUGMENT_REPORT=FILE cargo test --lib answers_are_torchvisions
writes a line for each operation: cases, values, values that differ, the largest difference.
"""

import json
import math
import pathlib
import sys

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode, autoaugment
from torchvision.transforms import functional as F
from torchvision.transforms import transforms as T

assert PIL.__version__.startswith("13."), "the answers are those of Pillow 13"
assert torchvision.__version__.startswith("0.29.2"), "the answers are those of torchvision 0.29.2"
torch.set_num_threads(1)
ROOT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/augment"
MODES = {mode: InterpolationMode(mode) for mode in ["nearest", "bilinear", "bicubic"]}
pictures, cases, inputs, outputs = [], [], [], []
rng = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 2026)


def give(array):
    """An input: a uint8 picture (HWC) or a float32 one."""
    array = np.ascontiguousarray(array)
    pictures.append(array)
    inputs.append(array.tobytes())
    return len(pictures) - 1


def image(number):
    array = pictures[number]
    return Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)


def text(value):
    """Floats as text, in lists and dictionaries too."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return [text(item) for item in value]
    if isinstance(value, dict):
        return {key: text(item) for key, item in value.items()}
    return value


def answer(number, operation, parameters, made):
    if isinstance(made, Image.Image):
        made = np.asarray(made)
        made = made.reshape(*made.shape[:2], -1)
    made = np.ascontiguousarray(made)
    case = {"input": number, "operation": operation, "parameters": text(parameters)}
    cases.append({**case, "shape": made.shape})
    outputs.append(made.tobytes())


# --- operations: each answers one case ------------------------------------------------------


def plain(function, name, *keys):
    """An operation of a picture and numbers."""

    def run(number, *values):
        answer(number, name, dict(zip(keys, values)), function(image(number), *values))

    return run


brightness = plain(F.adjust_brightness, "brightness", "factor")
contrast = plain(F.adjust_contrast, "contrast", "factor")
saturation = plain(F.adjust_saturation, "saturation", "factor")
hue = plain(F.adjust_hue, "hue", "factor")
sharpness = plain(F.adjust_sharpness, "sharpness", "factor")
invert = plain(F.invert, "invert")
posterize = plain(F.posterize, "posterize", "bits")
solarize = plain(F.solarize, "solarize", "threshold")
equalize = plain(F.equalize, "equalize")
autocontrast = plain(F.autocontrast, "autocontrast")
blur = plain(F.gaussian_blur, "blur", "kernel_size", "sigma")


def grayscale(number):
    channels = pictures[number].shape[2]
    answer(number, "random_grayscale", {"p": 1}, F.rgb_to_grayscale(image(number), channels))


def flip(number):
    answer(number, "random_vertical_flip", {"p": 1}, F.vflip(image(number)))


def rotate(number, angle, mode="nearest", center=None, fill=0):
    made = F.rotate(image(number), angle, MODES[mode], center=center, fill=fill)
    parameters = {"angle": angle, "interpolation": mode, "center": center, "fill": fill}
    answer(number, "rotate", parameters, made)


def affine(number, angle, translate, scale, shear, mode="nearest", center=None, fill=0):
    made = F.affine(image(number), angle, translate, scale, shear, MODES[mode], fill, center)
    parameters = {"angle": angle, "translate": translate, "scale": scale, "shear": shear}
    parameters |= {"interpolation": mode, "center": center, "fill": fill}
    answer(number, "affine", parameters, made)


def apply(number, name, magnitude, mode="nearest", fill=0):
    made = autoaugment._apply_op(image(number), name, magnitude, MODES[mode], fill)
    parameters = {"name": name, "magnitude": magnitude, "interpolation": mode, "fill": fill}
    answer(number, "apply", parameters, made)


def pad(number, padding, fill=0, mode="constant"):
    # Pillow pads with a tuple or a number; a list is the same in a config.
    given = fill if isinstance(fill, int) else tuple(fill)
    made = F.pad(image(number), padding, given, mode)
    answer(number, "pad", {"padding": padding, "fill": fill, "padding_mode": mode}, made)


def padded_crop(number, padding, mode="constant", fill=0):
    """A random crop that has only one place: it is as large as the padded picture."""
    height, width = pictures[number].shape[:2]
    left, top, right, bottom = padding
    size = [height + top + bottom, width + left + right]
    step = T.RandomCrop(tuple(size), padding, False, fill, mode)
    made = step(image(number))
    parameters = {"size": size, "padding": padding}
    answer(number, "random_crop", {**parameters, "fill": fill, "padding_mode": mode}, made)


def center_crop(number, size):
    answer(number, "center_crop", {"size": size}, F.center_crop(image(number), size))


def erase(number, top, left, height, width, value):
    array = pictures[number]
    values = torch.tensor([float(v) for v in value])[:, None, None]
    made = F.erase(torch.from_numpy(array.transpose(2, 0, 1).copy()), top, left, height, width, values)
    place = {"top": top, "left": left, "height": height, "width": width}
    answer(number, "erase", {**place, "value": value}, made.numpy().transpose(1, 2, 0))


def jitter(number, order, factors):
    made = image(number)
    functions = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
    for which in order:
        made = functions[which](made, factors[which])
    answer(number, "jitter", {"order": order, "factors": factors}, made)


# --- torchvision's own tables ----------------------------------------------------------------


def magnitudes(space):
    return {name: np.atleast_1d(values.numpy()).astype(float).tolist() for name, (values, _) in space.items()}


def signed(space):
    return [name for name, (_, sign) in space.items() if sign]


def tables():
    made = {"spaces": [], "policies": {}}
    rand, wide = autoaugment.RandAugment(), autoaugment.TrivialAugmentWide()
    auto = autoaugment.AutoAugment()
    for bins in [2, 3, 10, 31]:
        for size in [[33, 47], [224, 224]]:
            for kind, space in [
                ("narrow", rand._augmentation_space(bins, size)),
                ("wide", wide._augmentation_space(bins)),
            ]:
                entry = {"kind": kind, "bins": bins, "size": size, "order": list(space)}
                made["spaces"].append({**entry, "signed": signed(space), "magnitudes": magnitudes(space)})
            assert magnitudes(auto._augmentation_space(bins, size)).items() <= {
                **magnitudes(rand._augmentation_space(bins, size)), "Invert": [0.0]
            }.items()
    for policy in autoaugment.AutoAugmentPolicy:
        made["policies"][policy.value] = autoaugment.AutoAugment(policy).policies
    return text(made)


# --- pictures --------------------------------------------------------------------------------


def photo(height, width, channels):
    """Smooth colours with some noise and hard edges."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for c in range(channels):
        wave = 127 + 90 * np.sin(x / (3 + c)) * np.cos(y / (5 - c % 3))
        wave += 60 * ((x // 7 + y // 5 + c) % 2) + rng.normal(0, 12, (height, width))
        planes.append(wave)
    return np.clip(np.stack(planes, 2), 0, 255).astype(np.uint8)


def any_photo(most):
    """A picture of a random kind and size."""
    height, width = (int(n) for n in rng.integers(1, most, 2))
    if rng.random() < 0.15:
        width = height
    channels = 1 if rng.random() < 0.2 else 3
    kind = rng.integers(5)
    if kind == 0:
        return rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
    if kind == 1:
        low = int(rng.integers(0, 200))
        high = int(rng.integers(low + 1, 257))
        return rng.integers(low, high, (height, width, channels), dtype=np.uint8)
    if kind == 2:
        return np.full((height, width, channels), rng.integers(0, 256, channels), dtype=np.uint8)
    return photo(height, width, channels)


# --- the golden cases --------------------------------------------------------------------------


def golden():
    rgb, gray = give(photo(33, 47, 3)), give(photo(33, 47, 1))
    small, square = give(photo(11, 19, 3)), give(photo(12, 12, 3))
    square_gray, pixel = give(photo(9, 9, 1)), give(photo(1, 1, 3))
    gray_pixel, tiny = give(photo(1, 1, 1)), give(photo(2, 3, 3))
    line, flat = give(photo(1, 17, 3)), give(np.full((4, 5, 3), (9, 120, 250), np.uint8))
    dark = give((photo(11, 13, 3) // 4 + 17).astype(np.uint8))
    noise = give(rng.integers(0, 256, (11, 19, 3), dtype=np.uint8))
    all_small = [small, square_gray, pixel, gray_pixel, tiny, line, flat, dark, noise]

    for function in [brightness, contrast, saturation, sharpness]:
        for number in all_small:
            for factor in [0.0, 0.5, 1.7]:
                function(number, factor)
        for factor in [1e-3, 0.1, 0.9999999, 1.0, 1.00001, 1.99, 10.0, 1000.0]:
            function(small, factor)
        function(rgb, 1.3)
        function(gray, 0.7)
    for number in all_small:
        for factor in [-0.5, 0.0, 0.11]:
            hue(number, factor)
    for factor in [-0.3, -0.004, 0.003, 0.0039216, 0.25, 0.5]:
        hue(noise, factor)
    hue(rgb, -0.1)
    # Every colour that the conversions can tell apart in one place or another.
    cube = np.stack(np.meshgrid(*[np.arange(0, 256, 15)] * 3), -1).reshape(18, -1, 3).astype(np.uint8)
    hue(give(cube), 0.2)

    for number in all_small:
        invert(number)
        equalize(number)
        autocontrast(number)
        flip(number)
        grayscale(number)
        posterize(number, 3)
        solarize(number, 128.0)
    for number in [rgb, gray]:
        equalize(number)
        autocontrast(number)
    for bits in range(1, 9):
        posterize(noise, bits)
    for threshold in [0.0, 8.5, 127.5, 255.0, 256.0]:
        solarize(noise, threshold)

    for mode in MODES:
        for number in [small, square, square_gray, pixel, gray_pixel, tiny, line]:
            for angle in [0.0, 90.0, 180.0, -90.0, 45.0]:
                rotate(number, angle, mode)
        for angle in [1e-7, -13.7, 360.0, 719.5, 89.99999999]:
            rotate(small, angle, mode, fill=[1, 2, 3])
        rotate(small, 30.0, mode, [0.0, 0.0], 7)
        rotate(square, 90.0, mode, [3.5, 8.0], 255)
        rotate(rgb, 21.5, mode)
        rotate(gray, -135.0, mode, fill=77)
        for number in [small, square_gray, tiny, line, pixel]:
            affine(number, 0.0, [0, 0], 1.0, [0.0, 0.0], mode)
            affine(number, 10.0, [2, -1], 0.8, [5.0, 0.0], mode)
            affine(number, -170.0, [0, 1], 1.6, [-20.0, 40.0], mode, [2.0, 1.5], 200)
        affine(small, 0.0, [3, -2], 0.5, [0.0, 0.0], mode)
        affine(small, 0.0, [0, 0], 0.001, [0.0, 0.0], mode, fill=9)
        affine(small, 33.0, [0, 0], 0.001, [0.0, 0.0], mode, fill=9)
        affine(small, 33.0, [0, 0], 1000.0, [0.0, 0.0], mode)
        affine(small, 0.0, [0, 0], 3.0, [89.9, -89.9], mode)
        affine(rgb, 7.0, [4, 3], 1.1, [3.0, -8.0], mode, fill=[10, 20, 30])

    space = autoaugment.TrivialAugmentWide()._augmentation_space(31)
    for name, (values, sign) in [*space.items(), ("Invert", (torch.tensor(0.0), False))]:
        chosen = [float(values[n]) for n in (1, 13, 30)] if values.ndim else [0.0]
        for magnitude in chosen:
            apply(small, name, magnitude)
            if sign:
                apply(small, name, -magnitude, "bilinear", [5, 6, 7])
        apply(gray, name, chosen[-1], "bilinear")
    for number in [pixel, square_gray]:
        for name in ["ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate"]:
            apply(number, name, -0.7)

    for size, sigma in [(1, 1.0), (3, 0.1), (3, 2.0), (5, 0.8), (9, 1.3), ([7, 3], 1.9), ([1, 11], [0.5, 3.0])]:
        blur(noise, size, sigma)
        blur(small, size, sigma)
    blur(rgb, 23, 1.7)
    blur(gray, 5, 1.1)
    blur(flat, 3, 1.0)
    blur(pixel, 1, 0.5)

    for mode in ["constant", "edge", "reflect", "symmetric"]:
        for number in [small, square_gray, pixel, tiny, line]:
            pad(number, 2, 0, mode)
            pad(number, [1, 3], 200, mode)
            pad(number, [0, 1, 5, 7], 9, mode)
        pad(tiny, [9, 8], 1, mode)
        padded_crop(small, [4, 4, 4, 4], mode)
        padded_crop(tiny, [1, 0, 2, 3], mode)
    pad(small, [1, 2, 3, 4], [10, 20, 30])
    for number in [small, tiny, pixel, square_gray]:
        for size in [[1, 1], [2, 4], [12, 12], [5, 40], [30, 6]]:
            center_crop(number, size)

    normal = give(rng.normal(0, 1, (9, 7, 3)).astype(np.float32))
    erase(normal, 2, 3, 4, 1, [0.5])
    erase(normal, 0, 0, 8, 6, [-1.0, 0.1, 3.0])
    erase(normal, 5, 2, 0, 3, [1.0])
    erase(small, 3, 2, 5, 9, [0])
    erase(small, 10, 18, 1, 1, [255, 7, 0])
    erase(square_gray, 1, 1, 2, 7, [3])

    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]]:
        jitter(small, order, [1.2, 0.7, 1.4, -0.05])
        jitter(square_gray, order, [0.8, 1.3, 0.5, 0.1])


# --- random cases --------------------------------------------------------------------------------


def at_random(count):
    uniform = lambda low, high: float(rng.uniform(low, high))
    pick = lambda *items: items[int(rng.integers(len(items)))]
    rand, wide = autoaugment.RandAugment(), autoaugment.TrivialAugmentWide()
    for _ in range(count):
        number = give(any_photo(pick(4, 30, 100)))
        height, width, channels = pictures[number].shape
        fill = pick(0, int(rng.integers(256)), *([[1, 90, 255]] if channels == 3 else []))
        mode = pick(*MODES)
        for function in [brightness, contrast, saturation, sharpness]:
            function(number, uniform(0, pick(1, 2, 20)))
        hue(number, uniform(-0.5, 0.5))
        for function in [invert, equalize, autocontrast, flip, grayscale]:
            function(number)
        posterize(number, int(rng.integers(1, 9)))
        solarize(number, uniform(0, 256))
        rotate(number, uniform(-400, 400), mode, fill=fill)
        rotate(number, float(rng.integers(-5, 5) * 45), pick(*MODES), fill=fill)
        rotate(number, uniform(-180, 180), mode, [uniform(0, width), uniform(0, height)], fill)
        translate = [int(rng.integers(-width, width + 1)), int(rng.integers(-height, height + 1))]
        shear = [uniform(-60, 60), pick(0.0, uniform(-60, 60))]
        affine(number, uniform(-180, 180), translate, uniform(0.3, 3), shear, mode, None, fill)
        affine(number, pick(0.0, uniform(-180, 180)), [0, 0], math.exp(uniform(-6, 6)), pick(shear, [0.0, 0.0]), mode, None, fill)
        for space in [rand._augmentation_space(31, (height, width)), wide._augmentation_space(31)]:
            name = pick(*space)
            values, sign = space[name]
            magnitude = float(values[int(rng.integers(31))]) if values.ndim else 0.0
            apply(number, name, -magnitude if sign and rng.random() < 0.5 else magnitude, mode, fill)
        most = min(height, width, 12)
        size = [2 * int(rng.integers(0, most)) + 1 for _ in range(2)]
        blur(number, size, uniform(0.1, 3))
        border = pick("constant", "edge", "reflect", "symmetric")
        pad(number, [int(n) for n in rng.integers(0, 40, 4)], fill, border)
        padded_crop(number, [int(n) for n in rng.integers(0, 9, 4)], border)
        center_crop(number, [int(n) for n in rng.integers(1, 120, 2)])
        jitter(number, rng.permutation(4).tolist(), [uniform(0, 2), uniform(0, 2), uniform(0, 2), uniform(-0.5, 0.5)])


if len(sys.argv) > 1:
    ROOT = pathlib.Path(sys.argv[1])
    ROOT.mkdir(parents=True, exist_ok=True)
    at_random(int(sys.argv[2]))
else:
    golden()
versions = {"torchvision": torchvision.__version__, "torch": torch.__version__, "pillow": PIL.__version__}
manifest = {
    "versions": versions,
    "inputs": [{"dtype": str(array.dtype), "shape": array.shape} for array in pictures],
    "cases": cases,
    "tables": tables(),
}
lists = [f'"{key}": [\n' + ",\n".join(json.dumps(item) for item in manifest[key]) + "\n]" for key in ["inputs", "cases"]]
singles = [f'"{key}": {json.dumps(manifest[key])}' for key in ["versions", "tables"]]
(ROOT / "manifest.json").write_text("{\n" + ",\n".join(singles + lists) + "\n}\n")
(ROOT / "inputs.bin").write_bytes(b"".join(inputs))
(ROOT / "outputs.bin").write_bytes(b"".join(outputs))
print(len(cases), "cases,", sum(map(len, outputs)), "bytes of answers")
