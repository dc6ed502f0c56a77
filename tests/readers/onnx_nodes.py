"""Runs ONNX's test cases of single operators through `lanista check`: onnx_nodes.py LANISTA FOLDER.

The small models of ONNX from PyTorch are run too. Each case is written as a model with one input: the first input of
floats with a batch axis. Its other inputs become constants. A case with several outputs gives one model for each.

lanista reads the model and computes the expected result, or refuses it with a reason; refusals are counted by reason. A
wrong result, a crash or an undocumented exit code fails the test. A case that passes is repeated in older opsets, if
ONNX can convert it and ONNX Runtime can compute its result.
"""
import collections
import pathlib
import re
import subprocess
import sys
import warnings

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper, version_converter
    from onnx.backend.test.loader import load_model_tests
except ImportError as error:
    print("skipped: onnx is not installed:", error)
    sys.exit(77)

try:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None

OLDER = (9, 11, 13, 17)
AGREES, DIFFERS, USAGE, REFUSED = 0, 1, 2, 3


def tensors(folder, kind):
    paths = sorted(folder.glob(kind + "_*.pb"), key=lambda path: int(path.stem.rsplit("_", 1)[1]))
    return [numpy_helper.to_array(onnx.load_tensor(str(path))) for path in paths]


def cases():
    """Yields name, model, inputs and outputs of ONNX's cases: generated nodes, and small models from files."""
    for case in sorted(load_model_tests(kind="node"), key=lambda case: case.name):
        if case.model is not None and case.data_sets:
            inputs, outputs = case.data_sets[0]
            yield case.name, case.model, list(inputs), list(outputs)
    for kind in ("pytorch-converted", "pytorch-operator", "simple"):
        for case in sorted(load_model_tests(kind=kind), key=lambda case: case.name):
            folder = pathlib.Path(case.model_dir)
            try:
                inputs = tensors(folder / "test_data_set_0", "input")
                outputs = tensors(folder / "test_data_set_0", "output")
            except Exception:  # sequences and the like
                continue
            yield kind + "/" + case.name, onnx.load(folder / "model.onnx"), inputs, outputs


def is_floats(value):
    return isinstance(value, np.ndarray) and value.dtype == np.float32


def with_one_input(model, inputs):
    """Returns the model with all inputs except one as constants, and the value of that one; None without such input."""
    graph = model.graph
    given = {tensor.name for tensor in graph.initializer}
    names = [info.name for info in graph.input if info.name not in given]
    if len(names) != len(inputs) or not all(isinstance(value, np.ndarray) for value in inputs):
        return None
    chosen = next((i for i, value in enumerate(inputs) if is_floats(value) and value.ndim >= 2), None)
    if chosen is None:
        chosen = next((i for i, value in enumerate(inputs) if is_floats(value)), None)
    if chosen is None:
        return None
    made = onnx.ModelProto()
    made.CopyFrom(model)
    info = next(info for info in graph.input if info.name == names[chosen])
    del made.graph.input[:]
    made.graph.input.append(info)
    for i, value in enumerate(inputs):
        if i != chosen:
            made.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), names[i]))
    made.ir_version = max(made.ir_version, 4)
    return made, inputs[chosen]


def computed(model, value):
    """Returns the result of ONNX Runtime, since the conversion of a model may change its result."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {model.graph.input[0].name: value})[0]


def variants(model, value, expected):
    """Yields the model in its own and in older opsets, each with its opset and expected result."""
    default = [opset for opset in model.opset_import if opset.domain in ("", "ai.onnx")]
    if not default or default[0].version < 9:
        return
    yield default[0].version, model, expected
    for version in OLDER if onnxruntime else ():
        if version < default[0].version:
            try:
                older = version_converter.convert_version(model, version)
                yield version, older, computed(older, value)
            except Exception:  # no older form, or none that ONNX knows how to write and to run
                continue


class Runner:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def check(self, model, value, expected):
        """Returns exit code and output."""
        paths = [self.folder / name for name in ("model.onnx", "x.npy", "y.npy")]
        paths[0].write_bytes(model.SerializeToString())
        np.save(paths[1], value)
        np.save(paths[2], expected)
        ran = subprocess.run([self.program, "check", str(paths[0]), "--inputs", str(paths[1]), "--expect",
                              str(paths[2])], capture_output=True, text=True, timeout=120)
        return ran.returncode, (ran.stderr + ran.stdout).strip()


def reason(text):
    """Returns the reason of a refusal, without names and numbers."""
    text = text.splitlines()[-1] if text else "no message"
    text = re.sub(r"^lanista: \S*: onnx: (node \"[^\"]*\" )?", "", text)
    text = re.sub(r"\"[^\"]*\"", "...", re.sub(r"^\(\"(\w+)\"\)", r"\1", text))
    return re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "n", text)[:110]


def main(program, folder):
    runner = Runner(program, folder)
    passed, refused, failed, models = collections.Counter(), collections.Counter(), [], 0
    for name, model, inputs, outputs in cases():
        if any(node.op_type == "BatchNormalization" and a.name == "training_mode" and a.i
               for node in model.graph.node for a in node.attribute):
            refused["(batch norm in training mode: read as a layer, which check runs with its stored statistics)"] += 1
            continue
        chosen = with_one_input(model, inputs)
        if chosen is None:
            refused["(the case has no float32 input)"] += 1
            continue
        one, value = chosen
        results = list(one.graph.output)
        for k, info in enumerate(results):
            if not is_floats(outputs[k]):
                refused["(the case's output is not float32)"] += 1
                continue
            del one.graph.output[:]
            one.graph.output.append(info)
            for version, variant, expected in variants(one, value, outputs[k]):
                code, text = runner.check(variant, value, expected)
                if code == AGREES:
                    passed.update({node.op_type for node in variant.graph.node})
                    models += 1
                elif code in (REFUSED, USAGE) and text.startswith("lanista: "):
                    refused[reason(text)] += 1
                elif code == DIFFERS and "approximated" in text:
                    refused["approximated, with a note"] += 1
                else:
                    failed.append("%s (opset %d, output %d): exit %d: %s" % (name, version, k, code, text))
                if code != AGREES:
                    break
    for why, count in refused.most_common():
        print("not in our table: %4d  %s" % (count, why))
    print("passed:", ", ".join("%s %d" % pair for pair in sorted(passed.items())))
    for line in failed:
        print("FAILED:", line)
    print("onnx %s: %d passed, of %d operators; %d not in our table, %d failed"
          % (onnx.__version__, models, len(passed), sum(refused.values()), len(failed)))
    return 1 if failed or not models else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main(*sys.argv[1:3]))
