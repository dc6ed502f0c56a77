"""Checks exported models with the checker of ONNX and ONNX Runtime: onnx_check.py FOLDER (made by onnx_corpus).

Each model passes the full check. Its result for x.npy differs from y.npy by at most 1e-5 of 1 + |y|. ONNX Runtime
computes the result, or the reference evaluator of ONNX if ONNX Runtime is not installed.
"""
import pathlib
import sys

try:
    import numpy as np
    import onnx
except ImportError as error:
    print("skipped: onnx is not installed:", error)
    sys.exit(77)

TOLERANCE = 1e-5


def evaluator():
    """Returns the name of the program that runs models, and a function from a path to a function of x; None: none."""
    try:
        import onnxruntime

        def load(path):
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            return lambda x: session.run(["output"], {"input": x})[0]

        return "onnxruntime " + onnxruntime.__version__, load
    except ImportError:
        pass
    try:
        from onnx.reference import ReferenceEvaluator

        def load(path):
            model = ReferenceEvaluator(str(path))
            return lambda x: model.run(["output"], {"input": x})[0]

        return "the reference evaluator", load
    except ImportError:
        return "nothing (neither onnxruntime nor onnx.reference is here)", None


def deviation(seen, want):
    assert seen.dtype == np.float32 and seen.shape == want.shape, (seen.dtype, seen.shape, want.shape)
    assert np.isfinite(seen).all() and np.isfinite(want).all()
    return float(np.max(np.abs(seen.astype(np.float64) - want) / (1 + np.abs(want)), initial=0))


def check(case, load):
    """Returns the largest difference of the case, relative to 1 + |y|."""
    model = onnx.load(case / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == 17 and model.ir_version == 8
    if load is None:
        return 0.0
    x, y = np.load(case / "x.npy"), np.load(case / "y.npy")
    # x.npy stores tokens as floats.
    x = x.astype(onnx.helper.tensor_dtype_to_np_dtype(model.graph.input[0].type.tensor_type.elem_type))
    run = load(case / "model.onnx")
    worst = deviation(run(x), y)
    # The batch size is symbolic: one sample alone gives the same result.
    return max(worst, deviation(run(x[:1]), y[:1]))


def main(folder):
    name, load = evaluator()
    cases = sorted(pathlib.Path(folder).glob("case_*"))
    worst, failed = 0.0, 0
    for case in cases:
        try:
            seen = check(case, load)
            assert seen <= TOLERANCE, "deviation %g" % seen
            worst = max(worst, seen)
        except Exception as error:  # the other cases are still checked
            failed += 1
            print("FAILED: %s (%s): %s" % (case.name, (case / "name.txt").read_text().strip(), error))
    print("onnx %s: %d models checked, computed by %s: largest deviation %.2g, %d failed"
          % (onnx.__version__, len(cases), name, worst, failed))
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
