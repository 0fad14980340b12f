"""What Pillow and NumPy make of photos: float32 [3, 224, 224] each, one after the other on stdout.

stdin has a line of JSON for each: `path`; `box` (left, top, right, bottom) to crop, resize to 224 by
224 and mirror if `mirrored`, as torchvision's RandomResizedCrop and flip do with those draws; without
a box, torchvision's Resize(256) and CenterCrop(224). ToTensor and Normalize follow, in its order of
float32 operations.
"""

import json
import sys

import numpy as np
from PIL import Image

MEAN = np.float32([0.485, 0.456, 0.406])
STD = np.float32([0.229, 0.224, 0.225])

for line in sys.stdin:
    job = json.loads(line)
    with Image.open(job["path"]) as photo:
        photo = photo.convert("RGB")
    if "box" in job:
        photo = photo.crop(job["box"]).resize((224, 224), Image.Resampling.BILINEAR)
        if job["mirrored"]:
            photo = photo.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    else:
        width, height = photo.size
        short, long = min(width, height), max(width, height)
        long = int(256 * long / short)
        photo = photo.resize((256, long) if width <= height else (long, 256), Image.Resampling.BILINEAR)
        left, top = (int(round((side - 224) / 2.0)) for side in photo.size)
        photo = photo.crop((left, top, left + 224, top + 224))
    pixels = np.asarray(photo).astype(np.float32) / np.float32(255)
    sys.stdout.buffer.write(((pixels - MEAN) / STD).transpose(2, 0, 1).tobytes())
