"""The training cases that `lanista bench gpu --write DIR` leaves in a folder, and their models in words that every form
of them has (operators: see TorchOps, LaneOps, JaxOps). Wants numpy alone.
"""
import json
import os

import numpy


class Case:
    """A case and its first `lanes` models; what is beyond those that were written begins with theirs again."""

    def __init__(self, folder, name, lanes):
        with open(os.path.join(folder, "cases.json")) as text:
            index = json.load(text)
        entry = next(each for each in index["cases"] if each["name"] == name)
        floats = numpy.fromfile(os.path.join(folder, entry["file"]), dtype="<f4")
        arrays = {}
        for each in entry["arrays"]:
            size = int(numpy.prod(each["shape"]))
            arrays[each["name"]] = floats[each["offset"]:each["offset"] + size].reshape(each["shape"])
        take = numpy.arange(lanes) % index["models"]
        self.name, self.lanes, self.momentum = name, lanes, index["momentum"]
        self.features, self.labels = arrays["features"], arrays["labels"].astype("int64")
        if entry["vocab"] > 0:
            self.features = self.features.astype("int64")
        self.rates = arrays["rates"][take]
        self.losses = arrays["losses"][:, take]
        self.trained = [of[take] for key, of in arrays.items() if key.startswith("trained/")]
        self.buffers = [of[take] for key, of in arrays.items() if key.startswith("buffer/")]
        self.model = MODELS[name]
        self.is_image = self.features.ndim == 4

    def distances(self, losses):
        """Each lane's largest relative distance of losses [steps, lanes] from own kernels'; NaN where one is none."""
        losses = numpy.asarray(losses, dtype="float64")
        return numpy.max(numpy.abs(losses - self.losses) / numpy.abs(self.losses), axis=0).tolist()


def names(folder):
    with open(os.path.join(folder, "cases.json")) as text:
        return [each["name"] for each in json.load(text)["cases"]]


# The models of src/lanista/bench/cases.cpp. Weights are asked for in the order in which layers are added there.


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
