#!/usr/bin/env python3
"""Exports layers of torch.nn and models of timm with both exporters of PyTorch, and reads the files with lanista.

Usage: exports.py LANISTA FOLDER [--only TEXT] [--timm | --layers] [--refused]

Needs torch, onnx, onnxscript, onnxruntime, timm and numpy. FOLDER keeps the exported files; existing ones are not
written again. Each output of lanista is compared with that of onnxruntime. The script prints a row for each file, then
counts. Exit status 1: an output is wrong, or a layer of torch.nn has neither a recipe nor a reason to leave it out.
"""

import argparse
import hashlib
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnxruntime
import torch

import recipes

EXPORTERS = ("script", "fixed", "dynamo")
# Files without a match in lanista by design: they branch or loop on values.
CONTROL_FLOW = re.compile(r"sub-graph|control flow")


class FirstOutput(torch.nn.Module):
    """Attention of a sequence to itself, without the weights."""

    def __init__(self, layer, **call):
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, x):
        return self.layer(x, x, x, **self.call)[0]


def layers_of_torch():
    names = [name for name, value in vars(torch.nn).items()
             if inspect.isclass(value) and issubclass(value, torch.nn.Module)]
    return sorted(names)


def module_of(name, args, kwargs):
    kwargs = dict(kwargs)
    args = [torch.nn.TransformerEncoderLayer(a[1], a[2], dim_feedforward=16, batch_first=True)
            if isinstance(a, tuple) and a[:1] == ("encoder_layer",) else a for a in args]
    if name == "MultiheadAttention":
        need = kwargs.pop("need_weights", True)
        return FirstOutput(torch.nn.MultiheadAttention(*args, **kwargs), need_weights=need)
    return getattr(torch.nn, name)(*args, **kwargs)


def randomised(module):
    """Gives norms and biases values that are not 0 or 1."""
    with torch.no_grad():
        for value in list(module.parameters()) + list(module.buffers()):
            if value.dtype.is_floating_point and bool((value == value.flatten()[0]).all() if value.numel() else False):
                value.add_(torch.rand_like(value) * 0.3)
    return module.eval()


def sample(shape, batch):
    if shape[0] == "tokens":
        return torch.randint(0, shape[2], (batch, shape[1]))
    return torch.randn((batch,) + tuple(shape)) * 1.5


def export(module, shape, exporter, path):
    batch = 2 if exporter == "fixed" else 3
    x = sample(shape, batch)
    dynamic = None if exporter == "fixed" else {"x": {0: "batch"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "dynamo":
            shapes = ({0: torch.export.Dim("batch", min=1, max=64)},)
            torch.onnx.export(module, (x,), path, dynamo=True, dynamic_shapes=shapes, external_data=False,
                              verbose=False)
        else:
            opset = 14 if exporter == "fixed" else 17
            torch.onnx.export(module, (x,), path, dynamo=False, input_names=["x"], dynamic_axes=dynamic,
                              opset_version=opset)
    return x


def write_case(make, shape, exporter, stem):
    """Writes the model, an input and the output of onnxruntime. Returns a message if PyTorch or onnxruntime fails."""
    failure = stem.with_suffix(".failed")
    if failure.exists():
        return failure.read_text()
    if stem.with_suffix(".y.npy").exists():
        return ""
    torch.manual_seed(int(hashlib.sha256(stem.name.encode()).hexdigest()[:8], 16))
    try:
        sys.stdout.flush()
        export(randomised(make()), shape, exporter, str(stem) + ".onnx")
        x = sample(shape, 2 if exporter == "fixed" else 5).numpy()
        session = onnxruntime.InferenceSession(str(stem) + ".onnx", providers=["CPUExecutionProvider"])
        y = session.run(None, {session.get_inputs()[0].name: x})[0]
    except Exception as error:  # any failure of another program
        failure.write_text(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[:200])
        return failure.read_text()
    numpy.save(str(stem) + ".x.npy", x.astype(numpy.int64) if x.dtype.kind == "i" else x)
    numpy.save(str(stem) + ".y.npy", y)
    return ""


def verdict(lanista, stem):
    # Deep networks add up rounding in another order than onnxruntime does.
    run = subprocess.run([lanista, "check", f"{stem}.onnx", "--inputs", f"{stem}.x.npy", "--expect", f"{stem}.y.npy",
                          "--atol", "2e-4", "--rtol", "2e-3"], capture_output=True, text=True)
    text = (run.stderr + run.stdout).strip()
    if run.returncode == 0 and "agrees" in run.stdout:
        return "imported", ""
    lines = [line for line in text.splitlines() if "onnx:" in line or "differs" in line or "expected" in line]
    line = (lines or text.splitlines() or ["no output"])[0]
    if "onnx: " in line:
        line = line.split("onnx: ", 1)[1]
        return ("control flow" if CONTROL_FLOW.search(line) else "refused"), line
    return "wrong", line


def cases(options):
    if not options.timm:
        for name in layers_of_torch():
            for number, (args, kwargs, shape) in enumerate(recipes.LAYERS.get(name, [])):
                yield name, f"{name}-{number}", lambda n=name, a=args, k=kwargs: module_of(n, a, k), shape
    if not options.layers:
        import timm
        for family, (model, side) in recipes.FAMILIES.items():
            def make(name=model):
                return timm.create_model(name, pretrained=False, num_classes=10)
            yield f"timm {family}", f"timm-{family}", make, (3, side, side)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lanista")
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--timm", action="store_true")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--refused", action="store_true", help="print only what is not imported")
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    excluded = {name for names in recipes.EXCLUDED.values() for name in names}
    unknown = [name for name in layers_of_torch() if name not in recipes.LAYERS and name not in excluded]
    counts, kinds, wrong = {}, {}, 0
    for kind, name, make, shape in cases(options):
        if options.only and not re.search(options.only, name):
            continue
        for exporter in EXPORTERS:
            if exporter == "fixed" and kind.startswith("timm"):
                continue
            stem = folder / f"{name}-{exporter}"
            failed = write_case(make, shape, exporter, stem)
            result, message = ("not exported", failed) if failed else verdict(options.lanista, stem)
            counts[result] = counts.get(result, 0) + 1
            kinds.setdefault(kind, []).append(result)
            wrong += result == "wrong"
            if not (options.refused and result == "imported"):
                print(f"{name:28} {exporter:7} {result:12} {message[:150]}", flush=True)
    total = sum(count for result, count in counts.items() if result not in ("not exported", "control flow"))
    print(f"kinds {len(kinds)}; " + "; ".join(f"{result} {count}" for result, count in sorted(counts.items())))
    if total:
        print(f"imported {100 * counts.get('imported', 0) / total:.1f} % of {total} without control flow")
    for name in unknown:
        print(f"torch.nn.{name} has neither a recipe nor a reason to leave it out")
    return 1 if wrong or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
