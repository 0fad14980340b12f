"""The reference of `parbake verify`: the same steps by Pillow, NumPy and, where it is there, torchvision.

Run by `parbake verify` as `python -c`. A message is a length (4 bytes, little-endian) and so many bytes
of JSON; an answer with "bytes" is followed by so many bytes of elements. In paths a character stands
for a byte.
"""

import json
import os
import struct
import sys
import time

# A file of the current folder is no module.
sys.path = [place for place in sys.path if place]
# Read when what reads them is imported.
for name in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"]:
    os.environ[name] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

# What libraries print is no answer.
out = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)


def answer(value, rest=b""):
    text = json.dumps(value).encode()
    out.write(struct.pack("<I", len(text)) + text)
    out.write(rest)
    out.flush()


python = "%d.%d.%d" % sys.version_info[:3]
missing = []
try:
    import numpy as np
except ImportError as error:
    missing.append(["numpy", str(error)])
try:
    import PIL
    from PIL import Image, features
except ImportError as error:
    missing.append(["pillow", str(error)])
if missing:
    answer({"python": python, "missing": missing})
    sys.exit()

try:
    import torch
    import torchvision
    import torchvision.transforms.functional as F
    from torchvision.transforms import InterpolationMode

    torch.set_num_threads(1)
except Exception as error:
    torchvision = None

# A large picture is warned of; what is refused, is refused all the same.
import warnings

warnings.simplefilter("ignore")

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
ONE = np.float32(1)


class Picture:
    """A picture on its way: one of an image of Pillow's, an array, or a tensor of torch's.

    An array has the axes that parbake's has: `chw` says which. A tensor has its channels first,
    whatever parbake does; `chw` says what parbake does.
    """

    def __init__(self, image):
        self.image, self.tensor, self.numbers, self.chw = image, None, None, False

    def array(self):
        """The array, made of what there is. What is read of it may not be changed."""
        if self.image is not None:
            array = np.asarray(self.image)
            self.numbers = array.reshape(*array.shape[:2], -1)
            self.image = None
        if self.tensor is not None:
            array = self.tensor.numpy()
            self.numbers = array if self.chw else np.ascontiguousarray(array.transpose(1, 2, 0))
            self.tensor = None
        return self.numbers

    def drawn(self):
        """As an image of Pillow's, if that can hold it."""
        if self.image is None and self.tensor is None and not self.chw:
            if self.numbers.dtype == np.uint8 and self.numbers.shape[2] in MODES:
                array, mode = self.numbers, MODES[self.numbers.shape[2]]
                self.image = Image.fromarray(np.ascontiguousarray(array[..., 0] if mode == "L" else array))
                self.numbers = None
        return self.image

    def put(self, image=None, tensor=None, numbers=None):
        self.image, self.tensor, self.numbers = image, tensor, numbers

    def rows_and_columns(self):
        """Height and width."""
        if self.image is not None:
            return self.image.height, self.image.width
        if self.tensor is not None:
            return tuple(self.tensor.shape[-2:])
        return self.numbers.shape[1:] if self.chw else self.numbers.shape[:2]


def decode_image(picture, mode="rgb", max_pixels=None):
    picture.put(image=picture.image.convert(mode.upper()))


def resized(picture, height, width, name):
    resample = Image.Resampling[name.upper()]
    if picture.drawn() is not None:
        if torchvision:
            filtered = InterpolationMode(name)
            picture.put(image=F.resize(picture.image, [height, width], filtered))
        else:
            picture.put(image=picture.image.resize((width, height), resample))
        return
    array = picture.array()
    assert array.dtype == np.float32 and not picture.chw
    planes = [Image.fromarray(np.ascontiguousarray(array[..., c])) for c in range(array.shape[2])]
    planes = [np.asarray(plane.resize((width, height), resample)) for plane in planes]
    picture.put(numbers=np.stack(planes, 2))


def resize(picture, short_side=None, size=None, filter="bilinear"):
    picture.drawn()
    if size is None:
        # torchvision's rule, for the longer side too.
        height, width = picture.rows_and_columns()
        short, long = min(height, width), max(height, width)
        if short == short_side:
            return
        long = int(short_side * long / short)
        size = (short_side, long) if height <= width else (long, short_side)
    resized(picture, *size, filter)


def cut(picture, top, left, height, width):
    """A rectangle, which may reach beyond the picture: there it is zeros."""
    if picture.drawn() is not None:
        picture.put(image=picture.image.crop((left, top, left + width, top + height)))
        return
    rows, columns = picture.rows_and_columns()
    channels_first = picture.chw or picture.tensor is not None
    array = picture.tensor.numpy() if picture.tensor is not None else picture.numbers
    pads = [(max(0, -top), max(0, top + height - rows)), (max(0, -left), max(0, left + width - columns))]
    if any(sum(pad) for pad in pads):
        array = np.pad(array, [(0, 0), *pads] if channels_first else [*pads, (0, 0)])
        top, left = top + pads[0][0], left + pads[1][0]
    window = slice(top, top + height), slice(left, left + width)
    array = np.ascontiguousarray(array[(slice(None), *window) if channels_first else window])
    if picture.tensor is not None:
        picture.put(tensor=torch.from_numpy(array))
    else:
        picture.put(numbers=array)


def center_crop(picture, size):
    picture.drawn()
    if torchvision and picture.image is not None:
        picture.put(image=F.center_crop(picture.image, size))
        return
    # torchvision's rule, along one side.
    start = lambda side, wanted: -((wanted - side) // 2) if side <= wanted else int(round((side - wanted) / 2.0))
    height, width = picture.rows_and_columns()
    cut(picture, start(height, size[0]), start(width, size[1]), *size)


def flipped(picture):
    if picture.drawn() is not None:
        picture.put(image=picture.image.transpose(Image.Transpose.FLIP_LEFT_RIGHT))
    elif picture.tensor is not None:
        picture.put(tensor=picture.tensor.flip(-1))
    else:
        picture.put(numbers=np.ascontiguousarray(picture.numbers[:, :, ::-1] if picture.chw else picture.numbers[:, ::-1]))


def grayscale(picture, channels=1):
    if picture.drawn() is not None:
        gray = picture.image.convert("L")
        picture.put(image=gray.convert("RGB") if channels == 3 else gray)
        return
    if picture.tensor is not None and picture.tensor.shape[0] == 3:
        picture.put(tensor=F.rgb_to_grayscale(picture.tensor, channels).contiguous())
        return
    array, axis = picture.array(), 0 if picture.chw else 2
    if array.shape[axis] == 3:
        r, g, b = np.moveaxis(array, axis, 0)
        if array.dtype == np.uint8:
            r, g, b = (plane.astype(np.uint32) for plane in (r, g, b))
            array = ((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16).astype(np.uint8)
        else:
            array = np.float32(0.2989) * r + np.float32(0.587) * g + np.float32(0.114) * b
        array = np.expand_dims(array, axis)
    picture.put(numbers=np.repeat(array, channels, axis) if channels == 3 else array)


def to_float(picture):
    if torchvision and picture.drawn() is not None:
        picture.put(tensor=F.to_tensor(picture.image))
    elif picture.tensor is None:
        array = picture.array()
        if array.dtype != np.float32:
            largest = np.float32(np.iinfo(array.dtype).max)
            picture.put(numbers=array.astype(np.float32) / largest)


def normalize(picture, mean, std):
    to_float(picture)
    if picture.tensor is not None:
        picture.put(tensor=F.normalize(picture.tensor, mean, std))
        return
    mean, std = np.array(mean, np.float32), np.array(std, np.float32)
    if picture.chw:
        mean, std = mean.reshape(-1, 1, 1), std.reshape(-1, 1, 1)
    picture.put(numbers=(picture.numbers - mean) / std)


def pixel_center(picture):
    picture.put(numbers=picture.array().astype(np.float32) / np.float32(127.5) - ONE)


def cast(picture, dtype):
    array, to = picture.array(), np.dtype(dtype)
    if to.kind in "iu":
        ends = np.iinfo(to)
        if array.dtype.kind == "f":
            array = np.nan_to_num(array.astype(np.float64), nan=0.0)
            array = np.clip(array, float(ends.min), np.nextafter(ends.max + 1.0, 0.0))
        else:
            have = np.iinfo(array.dtype)
            array = np.clip(array, max(ends.min, have.min), min(ends.max, have.max))
    picture.put(numbers=array.astype(to))


def to_chw(picture):
    if picture.tensor is None:
        array = picture.array()
        picture.put(numbers=np.ascontiguousarray(array.transpose(2, 0, 1)))
    picture.chw = True


def moved(picture, moves):
    """What a random step did with its draw, told by parbake."""
    for move in moves:
        if "cut" in move:
            cut(picture, *move["cut"])
        elif "resize" in move:
            picture.drawn()
            resized(picture, *move["resize"], move["filter"])
        else:
            flipped(picture)


STEPS = {
    step.__name__: step
    for step in [decode_image, resize, center_crop, grayscale, to_float, normalize, pixel_center, cast, to_chw]
}


def plan(steps):
    """How many steps there is a reference for, why no more, and what of them it doesn't know."""
    unknown = []
    for number, step in enumerate(steps, 1):
        name = step["name"]
        if (name == "decode_image") != (number == 1):
            why = "the reference starts with `decode_image`" if number == 1 else "it comes twice"
            return {"steps": number - 1, "why": why, "unknown": unknown}
        if step["random"]:
            continue
        if name not in STEPS:
            return {"steps": number - 1, "why": "there is no reference for it", "unknown": unknown}
        code = STEPS[name].__code__
        known = code.co_varnames[1 : code.co_argcount]
        unknown += [[number, key] for key, value in step["parameters"].items() if key not in known and value is not None]
    return {"steps": len(steps), "why": None, "unknown": unknown}


def make(path, steps):
    with open(path, "rb") as file:
        picture = Picture(Image.open(file))
        for step in steps:
            if "moves" in step:
                moved(picture, step["moves"])
                continue
            run = STEPS[step["name"]]
            known = run.__code__.co_varnames[1 : run.__code__.co_argcount]
            parameters = {key: value for key, value in step["parameters"].items() if key in known}
            run(picture, **{key: value for key, value in parameters.items() if value is not None})
        # A picture that is not asked for its pixels has none yet.
        if picture.image is not None:
            picture.array()
    return picture


def serve(ask):
    if "plan" in ask:
        return answer(plan(ask["plan"]))
    path = ask["make"].encode("latin-1")
    since = time.process_time_ns()
    try:
        picture = make(path, ask["steps"])
    except Exception as error:
        return answer({"cause": f"{type(error).__name__}: {error}"[:500]})
    taken = time.process_time_ns() - since
    told = {"ns": taken}
    if not ask["send"]:
        return answer(told)
    array = np.ascontiguousarray(picture.array())
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    answer({**told, "dtype": array.dtype.name, "shape": array.shape, "bytes": array.nbytes}, array.tobytes())


def exactly(size):
    got = sys.stdin.buffer.read(size)
    if len(got) < size:
        sys.exit()
    return got


answer(
    {
        "python": python,
        "numpy": np.__version__,
        "pillow": PIL.__version__,
        "libjpeg": features.version("libjpeg_turbo") or features.version("jpg"),
        "torchvision": torchvision and torchvision.__version__,
    }
)
while True:
    (size,) = struct.unpack("<I", exactly(4))
    serve(json.loads(exactly(size)))
