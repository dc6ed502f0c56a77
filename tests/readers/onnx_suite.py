"""Runs random, mutated and published models in onnxruntime: onnx_suite.py FILE (made by onnx_suite).

Each model passes the full check of ONNX, and gives the result of lanista in double precision. The tolerance is 1e-5 of
1 + |y|, or eight times the effect of half a unit in the last place of weights and features.

Some kernels of onnxruntime have a small absolute error of 1e-8 but a large relative error: its Sigmoid at -10 is off by
a share of 7e-4. A division makes this visible. Such a model must agree with the reference evaluator of ONNX instead.
onnxruntime may then differ by a hundred times the tolerance, or give NaN: its Sigmoid at -30 is 0, and s / s is NaN. At
most one model in a hundred may be such a case.

Where the result of lanista is NaN, nothing is checked. ONNX does not define the effect of NaN, and MaxPool of
onnxruntime ignores it.
"""
import collections
import json
import struct
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx.reference import ReferenceEvaluator
except ImportError as error:
    print("skipped: onnx and onnxruntime are not here:", error)
    sys.exit(77)

onnxruntime.set_default_logger_severity(4)


def records(path):
    """Yields header, model, x and y of each record."""
    with open(path, "rb") as file:
        while True:
            size = file.read(4)
            if not size:
                return
            header = json.loads(file.read(struct.unpack("<I", size)[0]))
            model = file.read(header["onnx"])
            x = np.frombuffer(file.read(4 * int(np.prod(header["x"]))), np.float32).reshape(header["x"])
            y = np.frombuffer(file.read(8 * int(np.prod(header["y"]))), np.float64).reshape(header["y"])
            yield header, model, x, y


def distance(seen, want):
    """Returns the largest difference relative to 1 + |want|; infinite if only one is finite. NaN in `want` counts 0."""
    assert seen.dtype == np.float32 and seen.shape == want.shape, (seen.dtype, seen.shape, want.shape)
    seen = seen.astype(np.float64)
    agree = (seen == want) | np.isnan(want)
    finite = np.isfinite(seen) & np.isfinite(want)
    with np.errstate(invalid="ignore"):
        away = np.where(finite, np.abs(seen - want) / (1 + np.abs(want)), np.inf)
    return float(np.max(np.where(agree, 0, away), initial=0))


def typed(proto, x):
    tokens = proto.graph.input[0].type.tensor_type.elem_type
    return x.astype(onnx.helper.tensor_dtype_to_np_dtype(tokens))


def reference_distance(model, x, y):
    """Returns the largest difference to the result of the reference evaluator of ONNX."""
    proto = onnx.load_from_string(model)
    return distance(ReferenceEvaluator(proto).run(["output"], {"input": typed(proto, x)})[0].astype(np.float32), y)


def check(header, model, x, y):
    """Returns the largest difference for the whole batch and for its first sample alone."""
    proto = onnx.load_from_string(model)
    onnx.checker.check_model(proto, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    x = typed(proto, x)
    run = lambda some: session.run(["output"], {"input": some})[0]
    return max(distance(run(x), y), distance(run(x[:1]), y[:1]))


def main(path):
    count, ill, nan, failed, unknown, left, worst, kinds = 0, 0, 0, 0, 0, 0, 0.0, collections.Counter()
    for header, model, x, y in records(path):
        count += 1
        kinds[header["name"].split()[0]] += 1
        ill += header["ill_conditioned"]
        nan += bool(np.isnan(y).any())
        try:
            away = check(header, model, x, y)
            if header["tolerance"] < 0:
                unknown += 1
                continue
            if header["tolerance"] < away <= 100 * header["tolerance"] or away == float("inf"):
                left += 1
                away = reference_distance(model, x, y)
            assert away <= header["tolerance"], "distance %g, allowed is %g" % (away, header["tolerance"])
            if not header["ill_conditioned"]:
                worst = max(worst, away)
        except Exception as error:  # the other models are still checked
            failed += 1
            print("FAILED: %s: %s" % (header["name"], str(error).strip()))
    print(", ".join("%d %s" % (n, kind) for kind, n in sorted(kinds.items())))
    print("onnxruntime %s: %d models, largest difference %.2g; %d are ill-conditioned, %d give NaN, "
          "%d have no tolerance, %d are compared with ONNX's reference; %d failed"
          % (onnxruntime.__version__, count, worst, ill, nan, unknown, left, failed))
    return 1 if failed or not count or 100 * left > count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
