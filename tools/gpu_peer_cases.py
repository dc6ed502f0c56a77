"""The training cases that `lanista bench gpu --write DIR` writes, and their models as calls of operators.

TorchOps, LaneOps and JaxOps implement the operators. Needs numpy only.
"""
import json
import os

import numpy


class Case:
    """A case and its first `lanes` models. With more lanes than written models, the models repeat.

    A case of cells has each cell once, for any `lanes`, because all cells are different."""

    def __init__(self, folder, name, lanes):
        with open(os.path.join(folder, "cases.json")) as text:
            index = json.load(text)
        entry = next(each for each in index["cases"] if each["name"] == name)
        floats = numpy.fromfile(os.path.join(folder, entry["file"]), dtype="<f4")
        arrays = {}
        for each in entry["arrays"]:
            size = int(numpy.prod(each["shape"]))
            arrays[each["name"]] = floats[each["offset"]:each["offset"] + size].reshape(each["shape"])
        self.cells = entry.get("cells", [])
        lanes = len(self.cells) or lanes
        take = numpy.arange(lanes) % (len(self.cells) or index["models"])
        self.name, self.lanes, self.momentum = name, lanes, index["momentum"]
        self.features, self.labels = arrays["features"], arrays["labels"].astype("int64")
        if entry["vocab"] > 0:
            self.features = self.features.astype("int64")
        self.rates = arrays["rates"][take]
        self.losses = arrays["losses"][:, take]
        self.trained = [of[take] for key, of in arrays.items() if key.startswith("trained/")]
        self.buffers = [of[take] for key, of in arrays.items() if key.startswith("buffer/")]
        self.model = None if self.cells else MODELS[name]
        self.is_image = self.features.ndim == 4
        self.parts = [Cell(self, i, arrays) for i in range(len(self.cells))]

    def part(self, i):
        """Model i, as a case and its position there."""
        return (self.parts[i], 0) if self.parts else (self, i)

    def distances(self, losses):
        """Largest relative distance of the losses [steps, models] of each model from those of lanista kernels.

        NaN if a loss is NaN."""
        losses = numpy.asarray(losses, dtype="float64")
        own = self.losses[:, :losses.shape[1]]
        return numpy.max(numpy.abs(losses - own) / numpy.abs(own), axis=0).tolist()


class Cell:
    """One cell of a case, as a case of one model."""

    def __init__(self, case, i, arrays):
        self.name, self.lanes, self.momentum = f"{case.name}, {i}", 1, case.momentum
        self.features, self.labels, self.is_image = case.features, case.labels, case.is_image
        self.rates = case.rates[i:i + 1]
        self.trained = [of[None] for key, of in arrays.items() if key.startswith(f"{i}/trained/")]
        self.buffers = [of[None] for key, of in arrays.items() if key.startswith(f"{i}/buffer/")]
        self.model = cell_model(case.cells[i])
        self.cells = self.parts = []


def names(folder):
    with open(os.path.join(folder, "cases.json")) as text:
        return [each["name"] for each in json.load(text)["cases"]]


# The models of bench/cases.cpp. They read weights in the order in which layers are added there.


def mlp(hidden):
    def model(ops, x):
        for _ in range(hidden):
            x = ops.relu(ops.linear(x))
        return ops.linear(x)
    return model


def cnn(ops, x):
    for _ in range(2):
        x = ops.max_pool(ops.relu(ops.conv(x)))
    return ops.linear(ops.flatten(x))


def cell(ops, images):
    x = ops.conv_norm(images)
    active = ops.relu(x)
    wide = ops.conv_norm(active)
    narrow = ops.conv_norm(active)
    return ops.linear(ops.spatial_mean(wide + narrow + ops.avg_pool(x)))


EDGES = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]


def cell_model(operations):
    """The model of a cell of bench/cells.cpp, with the operations on the edges between its four values (EDGES)."""
    def model(ops, images):
        values, active = [ops.conv_norm(images)], {}
        for to in (1, 2, 3):
            total = None
            for (begin, end), operation in zip(EDGES, operations):
                if end != to or operation == "none":
                    continue
                term = values[begin]
                if operation in ("conv1", "conv3"):  # the shape of the weight decides which
                    if begin not in active:
                        active[begin] = ops.relu(term)
                    term = ops.conv_norm(active[begin])
                elif operation == "pool":
                    term = ops.avg_pool(term)
                total = term if total is None else total + term
            values.append(total)
        return ops.linear(ops.spatial_mean(values[3]))
    return model


def mobilenet(ops, images):
    x = ops.relu6(ops.conv_norm(images, stride=2))
    for stride in (1, 2, 1):
        before = x
        x = ops.relu6(ops.conv_norm(before))
        x = ops.conv_norm(ops.relu6(ops.conv_norm(x, stride=stride, depthwise=True)))
        if x.shape == before.shape:
            x = before + x
    return ops.linear(ops.spatial_mean(ops.relu6(ops.conv_norm(x))))


def transformer(ops, tokens):
    x = ops.positions(ops.embedding(tokens))
    x = x + ops.attention(ops.layer_norm(x), heads=4)
    x = x + ops.linear(ops.gelu(ops.linear(ops.layer_norm(x))))
    return ops.linear(ops.time_mean(ops.layer_norm(x)))


MODELS = {"mlp-64": mlp(1), "mlp-256": mlp(2), "cnn-digits": cnn, "cnn-28": cnn, "nb201-cell": cell,
          "nb201-cell-16": cell, "mobilenet-small": mobilenet, "transformer-tiny": transformer}
