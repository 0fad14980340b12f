"""One epoch of a mounted folder with PyTorch: python pytorch.py MOUNT/train"""

import sys

import numpy as np
from torch.utils.data import DataLoader
from torchvision.datasets import DatasetFolder


def main():
    dataset = DatasetFolder(sys.argv[1], loader=np.load, extensions=(".npy",))
    loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=2)

    samples = 0
    for images, labels in loader:
        samples += len(labels)

    shape, classes = tuple(images.shape[1:]), len(dataset.classes)
    print(f"{samples} samples of {shape} {images.dtype} in {classes} classes")


if __name__ == "__main__":
    main()
