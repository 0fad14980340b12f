"""What the scripts beside it share: cases, their answers, and how they are written down.

    manifest.json   versions, and the cases in the order of their answers
    files/          compressed pictures, made here
    inputs.bin      arrays that steps are given, one after the other
    outputs.bin     the answers, one after the other
"""

import json
import pathlib

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden"


class Answers:
    def __init__(self, name):
        self.root = GOLDEN / name
        (self.root / "files").mkdir(parents=True, exist_ok=True)
        self.decodes, self.inputs, self.steps, self.outputs = [], [], [], []

    def file(self, name, data):
        (self.root / "files" / name).write_bytes(data)

    def decode(self, name, parameters, array):
        """The right answer of `decode_image` for a file."""
        array = np.asarray(array)
        array = array.reshape(*array.shape[:2], -1)
        case = {"file": name, "parameters": parameters, "dtype": str(array.dtype), "shape": array.shape}
        self.decodes.append(case)
        self.outputs.append(array.tobytes())

    def give(self, array):
        """An array for steps; the number to call it by."""
        data = np.ascontiguousarray(array).tobytes()
        self.inputs.append({"dtype": str(array.dtype), "shape": array.shape, "data": data})
        return len(self.inputs) - 1

    def answer(self, number, name, parameters, array):
        """The right answer of a step for an array."""
        self.steps.append(
            {
                "input": number,
                "step": name,
                "parameters": parameters,
                "dtype": str(array.dtype),
                "shape": array.shape,
            }
        )
        self.outputs.append(np.ascontiguousarray(array).tobytes())

    def write(self, made_with):
        (self.root / "inputs.bin").write_bytes(b"".join(entry.pop("data") for entry in self.inputs))
        (self.root / "outputs.bin").write_bytes(b"".join(self.outputs))
        manifest = {
            "made_with": made_with,
            "decodes": self.decodes,
            "inputs": self.inputs,
            "steps": self.steps,
        }
        lines = ["{"]
        for key, value in manifest.items():
            if isinstance(value, list):
                body = ",\n".join(f"  {json.dumps(entry)}" for entry in value)
                lines.append(f' "{key}": [\n{body}\n ],' if value else f' "{key}": [],')
            else:
                lines.append(f' "{key}": {json.dumps(value)},')
        lines[-1] = lines[-1].rstrip(",")
        (self.root / "manifest.json").write_text("\n".join([*lines, "}"]) + "\n")
        print(f"{len(self.decodes)} decodes and {len(self.steps)} steps, made with {made_with}")
