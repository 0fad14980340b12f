"""The others' side of `scripts/bench images`: images_peer.py PEER, run by a Python that has it.

Reads a JSON object a line on stdin and answers with one on stdout; images_driver.py describes them.
A batch's time is the CPU time of the whole process, all its threads: some of these hand work over.
Each peer does what its own documentation does for the two workloads, on one thread.
"""

import json
import os
import sys
import time

# Before any of them is imported: what reads these reads them then.
for name in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS"]:
    os.environ[name] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]


class Torchvision:
    """The transforms of torchvision's reference recipes, on pictures opened by Pillow."""

    def __init__(self):
        import PIL
        import torch
        import torchvision
        from PIL import Image
        from torchvision import transforms as t

        torch.set_num_threads(1)
        self.version = f"torchvision {torchvision.__version__}, Pillow {PIL.__version__}"
        self.image = Image
        last = [t.ToTensor(), t.Normalize(MEAN, STD)]
        self.transforms = {
            "eval": t.Compose([t.Resize(256), t.CenterCrop(224), *last]),
            "train": t.Compose([t.RandomResizedCrop(224), t.RandomHorizontalFlip(), *last]),
        }

    def prepare(self, workload, batches):
        pass

    def one(self, workload, path):
        with open(path, "rb") as file:
            return self.transforms[workload](self.image.open(file).convert("RGB"))

    def run(self, workload, at, paths):
        return [self.one(workload, path) for path in paths]

    def array(self, sample):
        return sample.numpy()


class Dali:
    """DALI's CPU operators, a pipeline that runs when it is asked to and never ahead."""

    def __init__(self):
        import nvidia.dali as dali

        self.version = f"DALI {dali.__version__}"
        self.pipelines = {}

    def pipeline(self, workload, size):
        from nvidia.dali import fn, pipeline_def, types

        @pipeline_def(
            batch_size=size,
            num_threads=1,
            device_id=None,
            prefetch_queue_depth=1,
            exec_pipelined=False,
            exec_async=False,
        )
        def define():
            files = fn.external_source(name="files", dtype=types.UINT8, ndim=1)
            if workload == "eval":
                pictures = fn.decoders.image(files, device="cpu", output_type=types.RGB)
                pictures = fn.resize(pictures, resize_shorter=256)
                mirror = 0
            else:
                pictures = fn.decoders.image_random_crop(files, device="cpu", output_type=types.RGB)
                pictures = fn.resize(pictures, size=[224, 224])
                mirror = fn.random.coin_flip()
            return fn.crop_mirror_normalize(
                pictures,
                crop=(224, 224),
                dtype=types.FLOAT,
                output_layout="CHW",
                mean=[255 * x for x in MEAN],
                std=[255 * x for x in STD],
                mirror=mirror,
            )

        built = define()
        built.build()
        return built

    def prepare(self, workload, batches):
        pass

    def one(self, workload, path):
        return self.run(workload, 0, [path])[0]

    def run(self, workload, at, paths):
        key = workload, len(paths)
        if key not in self.pipelines:
            self.pipelines[key] = self.pipeline(*key)
        pipeline = self.pipelines[key]
        pipeline.feed_input("files", [np.fromfile(path, dtype=np.uint8) for path in paths])
        (made,) = pipeline.run()
        return [made.at(at) for at in range(len(paths))]

    def array(self, sample):
        return np.asarray(sample)


class TfData:
    """tf.data on one thread; pictures stay height x width x channels, as TensorFlow has them."""

    def __init__(self):
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.version = f"TensorFlow {tf.__version__}"
        self.tf = tf
        self.maps = {"eval": tf.function(self.eval), "train": tf.function(self.train)}
        self.iterators = {}

    def normalized(self, picture):
        return (picture / 255.0 - MEAN) / STD

    def eval(self, path):
        tf = self.tf
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        shape = tf.shape(picture)
        short = tf.minimum(shape[0], shape[1])
        size = shape[:2] * 256 // short
        picture = tf.image.resize(picture, size)
        top, left = (size[0] - 224) // 2, (size[1] - 224) // 2
        return self.normalized(tf.image.crop_to_bounding_box(picture, top, left, 224, 224))

    def train(self, path):
        tf = self.tf
        file = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(file),
            tf.zeros([0, 0, 4]),
            area_range=(0.08, 1.0),
            aspect_ratio_range=(3 / 4, 4 / 3),
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        picture = tf.image.decode_and_crop_jpeg(file, window, channels=3)
        picture = tf.image.resize(picture, [224, 224])
        return self.normalized(tf.image.random_flip_left_right(picture))

    def dataset(self, workload, paths):
        options = self.tf.data.Options()
        options.threading.private_threadpool_size = 1
        options.threading.max_intra_op_parallelism = 1
        options.autotune.enabled = False
        made = self.tf.data.Dataset.from_tensor_slices(paths).repeat()
        return iter(made.map(self.maps[workload]).with_options(options))

    def prepare(self, workload, batches):
        # One that goes on for ever for each batch: starting one costs more than a batch does.
        for at, paths in enumerate(batches):
            self.iterators[workload, at] = self.dataset(workload, paths)

    def one(self, workload, path):
        return self.maps[workload](path)

    def run(self, workload, at, paths):
        iterator = self.iterators[workload, at]
        return [next(iterator) for _ in paths]

    def array(self, sample):
        return sample.numpy().transpose(2, 0, 1)


def main():
    # What a library prints is no answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    peers = {"torchvision": Torchvision, "pillow-simd": Torchvision, "dali": Dali, "tfdata": TfData}
    peer = peers[sys.argv[1]]()

    def answer(value, rest=b""):
        out.write(json.dumps(value).encode() + b"\n" + rest)
        out.flush()

    answer({"version": peer.version})
    batches = {}
    for line in sys.stdin:
        ask = json.loads(line)
        workload = ask["workload"]
        if "check" in ask:
            bad = []
            for path in ask["check"]:
                try:
                    peer.one(workload, path)
                except Exception:
                    bad.append(path)
            answer({"bad": bad})
        elif "batches" in ask:
            batches[workload] = ask["batches"]
            peer.prepare(workload, ask["batches"])
            answer({})
        else:
            at = ask["run"]
            paths = batches[workload][at]
            since = time.process_time_ns()
            made = peer.run(workload, at, paths)
            taken = time.process_time_ns() - since
            rest = b""
            if ask.get("files"):
                arrays = [np.ascontiguousarray(peer.array(one), dtype="<f4") for one in made]
                rest = b"".join(array.tobytes() for array in arrays)
            answer({"ns": taken, "bytes": len(rest)}, rest)


if __name__ == "__main__":
    main()
