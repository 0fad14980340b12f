"""The driver of `scripts/bench serving`: the same samples as plain files and through mounts, by turns.

A round reads from each place once, in random order, for every size, number and kind of readers and
way of reading. What is compared is one round's rate with the same round's rate of plain files, so
whatever else the machine does meets all alike. The first round is not counted: it fills the caches.
"""

import argparse
import json
import mmap
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time

import numpy as np

SIZES = {
    "192 KiB": (256, '{ use = "decode_image" }'),
    "588 KiB": (224, '{ use = "decode_image" }, { use = "to_float" }'),
}
FLIP = '{ use = "random_horizontal_flip" }'
# Where it is read from: the mount's mode, and whether it has a random step.
PLACES = {
    "plain": None,
    "cached": ("cached", False),
    "direct": ("direct", False),
    "random": ("direct", True),
}
# The largest file, and a page.
ROOM = 1 << 20


def say(text):
    print(f"\033[1m== {text}\033[0m", file=sys.stderr)


def config(source, cache, steps):
    return (
        f'[source]\npath = "{source}"\n[cache]\npath = "{cache}"\nmin_free = "0"\n'
        f'[[pipeline]]\nmatch = ["*.ppm"]\noutput = "npy"\nstep = [{steps}]\n'
        '[strategy]\nsplit = "decode_image"\n'
    )


def reader_of(how):
    if how == "np.load":
        return np.load
    # Anonymous mappings begin at a page: elsewhere the kernel copies at a fourth of the speed.
    buffers = [mmap.mmap(-1, ROOM)]

    def read(path):
        file = os.open(path, os.O_RDONLY)
        got = os.readv(file, buffers)
        os.close(file)
        return got

    return read


def work(folder, names, how, seconds, seed, ready, answer):
    """Reads for so many seconds; answers with how many files and how long it took."""
    read, order = reader_of(how), random.Random(seed)
    names = list(names)
    ready.wait()
    begun, count = time.perf_counter(), 0
    while True:
        order.shuffle(names)
        for name in names:
            read(f"{folder}/{name}")
            count += 1
            took = time.perf_counter() - begun
            if took >= seconds:
                return answer((count, took))


def rate(folder, names, kind, readers, how, seconds):
    """Files a second of so many readers together."""
    if kind == "threads":
        ready, answers = threading.Barrier(readers), []
        start = lambda *arguments: threading.Thread(target=work, args=(*arguments, answers.append))
    else:
        fork = multiprocessing.get_context("fork")
        ready, queue = fork.Barrier(readers), fork.SimpleQueue()
        start = lambda *arguments: fork.Process(target=work, args=(*arguments, queue.put))
    all_of_them = [start(folder, names, how, seconds, random.random(), ready) for _ in range(readers)]
    for one in all_of_them:
        one.start()
    if kind == "processes":
        answers = [queue.get() for _ in all_of_them]
    for one in all_of_them:
        one.join()
    return sum(count / took for count, took in answers)


class Places:
    """The folders that are read from, and what has to be undone."""

    def __init__(self, options):
        self.options, self.mounted, self.folders = options, [], {}
        self.root = os.path.join(options.work, "places")
        self.close()
        shutil.rmtree(self.root, ignore_errors=True)
        os.makedirs(self.root)

    def parbake(self, *arguments):
        ran = subprocess.run([self.options.parbake, *arguments], capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"{ran.stderr.strip()}\n(parbake {' '.join(arguments)})")
        return ran.stdout

    def make(self, size, side, steps):
        base = os.path.join(self.root, size.replace(" ", "-"))
        source = os.path.join(base, "source")
        os.makedirs(source)
        for number in range(self.options.files):
            with open(os.path.join(source, f"{number}.ppm"), "wb") as file:
                file.write(b"P6 %d %d 255\n" % (side, side) + os.urandom(side * side * 3))
        for place, mode in PLACES.items():
            folder = os.path.join(base, place)
            file = os.path.join(base, f"{place}.toml")
            more = f", {FLIP}" if mode and mode[1] else ""
            with open(file, "w") as text:
                text.write(config(source, os.path.join(base, "cache"), steps + more))
            if mode is None:
                self.parbake("export", file, folder)
            else:
                log = os.path.join(base, f"{place}.log")
                self.parbake("mount", file, folder, "--serve", mode[0], "--log", log)
                self.mounted.append(folder)
                told = json.loads(self.parbake("stats", folder, "--json"))["serving"]["mode"]
                assert told == mode[0], told
            self.folders[size, place] = folder

    def close(self):
        with open("/proc/self/mountinfo") as mounts:
            left = [line.split(" ")[4] for line in mounts]
        for folder in left:
            if folder.startswith(self.root + "/"):
                subprocess.run([self.options.parbake, "unmount", folder], capture_output=True)


def spread(values):
    if len(values) < 2:
        return values[0], values[0]
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    return tenths[0], tenths[-1]


def measure(options, places, names):
    cells = [
        (size, kind, readers, how)
        for size in SIZES
        for how in ("readv", "np.load")
        for readers in options.readers
        for kind in ("threads", "processes")
        if readers > 1 or kind == "threads"
    ]
    rates = {(*cell, place): [] for cell in cells for place in PLACES}
    for number in range(options.rounds + 1):
        say(f"round {number} of {options.rounds}" if number else "filling caches")
        for cell in cells:
            size, kind, readers, how = cell
            for place in random.sample(list(PLACES), len(PLACES)):
                folder = places.folders[size, place]
                if number:
                    got = rate(folder, names, kind, readers, how, options.seconds)
                    rates[*cell, place].append(got)
                else:
                    list(map(reader_of(how), (f"{folder}/{name}" for name in names)))
    rows = []
    for cell in cells:
        plain = rates[*cell, "plain"]
        for place in PLACES:
            own = rates[*cell, place]
            ratios = [mine / theirs for mine, theirs in zip(own, plain)]
            low, high = spread(ratios)
            row = dict(zip(("size", "kind", "readers", "how"), cell))
            row |= {"place": place, "files_per_second": statistics.median(own)}
            rows.append(row | {"ratio": statistics.median(ratios), "ratio_10": low, "ratio_90": high})
    return rows


def table(rows):
    others = list(PLACES)[1:]
    print(f"{'':31}{'plain: files/s':>15}" + "".join(f"{place:>22}" for place in others))
    for at in range(0, len(rows), len(PLACES)):
        first, *rest = rows[at : at + len(PLACES)]
        cell = f"{first['size']}, {first['how']:8}{first['readers']:2} {first['kind']}"
        line = f"{cell:31}{first['files_per_second']:15,.0f}"
        for row in rest:
            spread = f"({row['ratio_10']:.2f} to {row['ratio_90']:.2f})"
            line += f"{row['ratio']:8.2f} {spread:>13}"
        print(line)
    print("\nothers: their part of the plain files' rate: median of the rounds, and 10-90 %")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench serving")
    parser.add_argument("--parbake", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.25)
    parser.add_argument("--readers", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    places = Places(options)
    try:
        say(f"making {options.files} files of each size, and mounting them")
        for size, (side, steps) in SIZES.items():
            places.make(size, side, steps)
        rows = measure(options, places, [f"{number}.npy" for number in range(options.files)])
    finally:
        places.close()
        shutil.rmtree(places.root, ignore_errors=True)
    if options.json:
        print(json.dumps({"files": options.files, "rounds": options.rounds, "rows": rows}, indent=2))
    else:
        table(rows)


if __name__ == "__main__":
    main()
