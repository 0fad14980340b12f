"""The driver of `scripts/bench images`: asks parbake and its peers for the same photos by turns.

Each of them is a process of its own that reads a JSON object a line and answers with one:

    {"workload": W, "check": [photo, …]}      {"bad": [photo, …]}: those that it can't make
    {"workload": W, "batches": [[photo, …]]}  {}: what the numbers of batches stand for
    {"workload": W, "run": N, "epoch": E}     {"ns": CPU time, "bytes": 0}
    the same with "files": true               {"ns": …, "bytes": n} and then n bytes: the arrays

A round is every batch once, in random order; each batch is made by all of them, one after the other,
in random order. So whatever else the machine does meets all alike, and what is compared is what was
measured within a second or two. Only Python's own library is needed.
"""

import argparse
import array
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time

WORKLOADS = {
    "eval": "decode, resize to 256, centre crop 224, normalize, CHW",
    "train": "decode, random resized crop 224, random flip, normalize, CHW",
}
NOTES = {
    "tfdata": "tf.data: resizes without antialiasing (its default), leaves out CHW",
    "dali": "dali: resizes with antialiasing (its default)",
}
VALUES = 3 * 224 * 224
BATCH = 16
FEWEST_ROUNDS = 3
# Longer than the slowest of them takes to start on a busy machine.
PATIENCE = 300


class Gone(Exception):
    """A process that has ended, or doesn't answer."""


class Process:
    def __init__(self, name, command, log):
        self.name, self.log, self.version = name, log, None
        with open(log, "wb") as errors:
            self.child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )

    def ask(self, **question):
        timer = threading.Timer(PATIENCE, self.child.kill)
        timer.start()
        try:
            if question:
                self.child.stdin.write(json.dumps(question).encode() + b"\n")
                self.child.stdin.flush()
            line = self.child.stdout.readline()
            if not line:
                raise Gone
            answer = json.loads(line)
            rest = self.child.stdout.read(answer.get("bytes", 0))
        except OSError as error:
            raise Gone from error
        finally:
            timer.cancel()
        return answer, rest

    def arrays(self, rest, count):
        """The float32 values of each of the batch's samples."""
        size = len(rest) // count
        made = []
        for at in range(count):
            values = array.array("f")
            # parbake's are .npy files: a header, then the values.
            values.frombytes(rest[at * size + size - 4 * VALUES : (at + 1) * size])
            made.append(values)
        return made


def photos_of(folder, wanted):
    """As many JPEGs of a folder as wanted, every size as often as it is there."""
    found = []
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if name.lower().endswith((".jpg", ".jpeg")):
                path = os.path.join(root, name)
                found.append((os.path.getsize(path), os.path.relpath(path, folder)))
    found.sort()
    if len(found) > wanted:
        found = [found[(2 * at + 1) * len(found) // (2 * wanted)] for at in range(wanted)]
    return [path for _, path in found]


class Bench:
    def __init__(self, options, processes):
        self.options, self.processes = options, processes

    def each(self, do, order=None):
        """Has every process do it; one that ends is left out from then on."""
        for process in order or list(self.processes):
            try:
                do(process)
            except Gone:
                self.processes.remove(process)
                say(f"left out: {process.name} ended, or gave no answer in {PATIENCE} s: see {process.log}")

    def asked(self, process, path):
        return path if process.name == "parbake" else os.path.join(self.options.photos, path)

    def check(self, photos):
        """The photos that all of them can make."""
        bad = set()

        def one(process):
            asked = {self.asked(process, photo): photo for photo in photos}
            for workload in WORKLOADS:
                answer, _ = process.ask(workload=workload, check=list(asked))
                bad.update(asked[path] for path in answer["bad"])

        self.each(one)
        return [photo for photo in photos if photo not in bad]

    def prepare(self, photos):
        random.shuffle(photos)
        self.batches = [photos[at : at + BATCH] for at in range(0, len(photos), BATCH)]

        def one(process):
            asked = [[self.asked(process, photo) for photo in batch] for batch in self.batches]
            for workload in WORKLOADS:
                process.ask(workload=workload, batches=asked)
                # The first of each shape builds what later ones use.
                for batch in {len(batch): at for at, batch in enumerate(asked)}.values():
                    process.ask(workload=workload, run=batch, epoch=0)

        self.each(one)

    def differences(self):
        """Of each but the first, against the first: differing values, and the mean difference."""
        found = {}
        for at, batch in enumerate(self.batches):
            made = {}

            def one(process):
                _, rest = process.ask(workload="eval", run=at, epoch=0, files=True)
                made[process.name] = process.arrays(rest, len(batch))

            self.each(one)
            reference = made.pop(self.processes[0].name, None) if self.processes else None
            for name, samples in made.items():
                differing, total, amount = found.setdefault(name, (0, 0, 0.0))
                for sample, wanted in zip(samples, reference or []):
                    total += len(wanted)
                    if sample != wanted:
                        apart = [abs(a - b) for a, b in zip(sample, wanted) if a != b]
                        differing += len(apart)
                        amount += sum(apart)
                found[name] = differing, total, amount
        return found

    def measure(self, workload):
        """CPU time of each round: nanoseconds by name, a list of rounds."""
        until = time.monotonic() + self.options.seconds
        rounds = []
        while len(rounds) < self.options.rounds:
            if len(rounds) >= FEWEST_ROUNDS and time.monotonic() > until:
                break
            taken = {}

            def one(process):
                answer, _ = process.ask(workload=workload, run=at, epoch=len(rounds) + 1)
                taken[process.name] = taken.get(process.name, 0) + answer["ns"]

            for at in random.sample(range(len(self.batches)), len(self.batches)):
                self.each(one, random.sample(self.processes, len(self.processes)))
            rounds.append(taken)
            say(f"{workload}: round {len(rounds)} of at most {self.options.rounds}")
        return rounds


def say(words):
    print(words, file=sys.stderr, flush=True)


def tenth(values, share):
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))]


def figures(bench, workload, rounds, differences):
    """A row for each of them."""
    base = bench.processes[0].name
    photos = sum(len(batch) for batch in bench.batches)
    rows = []
    for process in bench.processes:
        ratios = [taken[base] / taken[process.name] for taken in rounds]
        differing, total, amount = differences.get(process.name, (None, None, None))
        eval_only = workload == "eval" and process.name != base and bool(total)
        rows.append(
            {
                "name": process.name,
                "version": process.version,
                "ms_per_sample": statistics.median(taken[process.name] for taken in rounds) / photos / 1e6,
                "as_fast": statistics.median(ratios),
                "as_fast_p10": tenth(ratios, 0.1),
                "as_fast_p90": tenth(ratios, 0.9),
                "differing_values": differing if eval_only else None,
                "differing_share": differing / total if eval_only else None,
                "mean_difference": amount / total if eval_only else None,
            }
        )
    return rows


def table(bench, workload, rounds, rows):
    base = rows[0]["name"]
    photos = sum(len(batch) for batch in bench.batches)
    print(f"\n{WORKLOADS[workload]}")
    print(f"{photos} photos, {len(rounds)} rounds, one thread, CPU time\n")
    print(f"{'':<14}{'ms/sample':>10}{'as fast':>10}{'10-90 %':>14}   values that differ")
    for row in rows:
        spread = f"{row['as_fast_p10']:.2f}-{row['as_fast_p90']:.2f}"
        differ = ""
        if row["differing_values"] is not None:
            differ = str(row["differing_values"])
            if row["differing_values"]:
                differ = f"{100 * row['differing_share']:.1f} %, by {row['mean_difference']:.2g} in the mean of all"
        elif row["name"] == base:
            differ = "what the others are compared with" if workload == "eval" else ""
        if workload == "train" and row["name"] == base:
            differ = "(each has random draws of its own)"
        print(
            f"{row['name']:<14}{row['ms_per_sample']:>10.3f}{row['as_fast']:>9.2f}x{spread:>14}   {differ}".rstrip()
        )


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench images")
    parser.add_argument("--photos", required=True)
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--logs", required=True)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--server", required=True)
    parser.add_argument("--configs", nargs=2, required=True)
    parser.add_argument("--peer", nargs=2, action="append", default=[], metavar=("NAME", "PYTHON"))
    options = parser.parse_args()
    options.photos = os.path.abspath(options.photos)
    # The same batches and orders every time.
    random.seed(0)

    photos = photos_of(options.photos, options.samples)
    if not photos:
        sys.exit(f"error: no .jpg or .jpeg below {options.photos}\nhint: name a folder of photos")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "images_peer.py")
    log = lambda name: os.path.join(options.logs, f"images-{name}.log")
    processes = [Process(name, [python, script, name], log(name)) for name, python in options.peer]
    bench = Bench(options, processes)
    say("starting the peers")

    def version(process):
        process.version = process.ask()[0]["version"]
        say(f"{process.name}: {process.version}")

    bench.each(version)
    # The one that the others are compared with comes first: torchvision if it is there.
    parbake = Process("parbake", [options.server, options.photos, *options.configs], log("parbake"))
    parbake.version = "this source"
    at = 1 if processes and processes[0].name == "torchvision" else 0
    processes.insert(at, parbake)

    say(f"every one makes each of {len(photos)} photos once, to see that all can")
    good = bench.check(photos)
    if len(good) < len(photos):
        say(f"left out: {len(photos) - len(good)} photos that not every one can make")
    if not good:
        sys.exit(f"error: not one photo can be made by all: see {options.logs}")
    bench.prepare(good)
    differences = bench.differences()
    rounds = {workload: bench.measure(workload) for workload in WORKLOADS}
    for process in bench.processes:
        process.child.stdin.close()
    if not any(process.name == "parbake" for process in bench.processes):
        sys.exit("error: parbake is not among those that came to the end")
    rows = {workload: figures(bench, workload, rounds[workload], differences) for workload in WORKLOADS}
    if options.json:
        shown = {
            workload: {"what": WORKLOADS[workload], "photos": len(good), "rounds": len(rounds[workload]), "rows": rows[workload]}
            for workload in WORKLOADS
        }
        print(json.dumps(shown, indent=2))
    else:
        for workload in WORKLOADS:
            table(bench, workload, rounds[workload], rows[workload])
        print(f"\nas fast: how many times as fast as {bench.processes[0].name}: median of the rounds' ratios, and their spread")
        for process in bench.processes:
            if process.name in NOTES:
                print(NOTES[process.name])
    wrong = [row for row in rows["eval"] if row["name"] == "parbake" and row["differing_values"]]
    if wrong and bench.processes[0].name == "torchvision":
        sys.exit("error: parbake's values differ from torchvision's")


if __name__ == "__main__":
    main()
