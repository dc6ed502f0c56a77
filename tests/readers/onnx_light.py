"""Runs the nine light models of ONNX through `lanista check`: onnx_light.py LANISTA FOLDER.

They are well-known networks: AlexNet, DenseNet, Inception 1 and 2, ResNet-50, ShuffleNet, SqueezeNet, VGG-19, ZFNet.
ConstantOfShape makes their weights. ONNX has their outputs for an input of rising numbers. Equal weights hide mistakes,
so the smaller models are also run with random weights and compared with ONNX Runtime, if it is installed.
"""
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as error:
    print("skipped: onnx is not installed:", error)
    sys.exit(77)

try:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None

RANDOM = ("densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet")


def data_input(model):
    given = {tensor.name for tensor in model.graph.initializer}
    return next(info for info in model.graph.input if info.name not in given)


def rising(model):
    """Returns the input of the backend test of ONNX."""
    shape = [dim.dim_value or 1 for dim in data_input(model).type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def with_random_weights(model, seed):
    """Returns the model with random constants instead of those of ConstantOfShape."""
    rng = np.random.default_rng(seed)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    roles = {}
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            roles[name] = (node.op_type, i)
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(int(size) for size in constants[node.input[0]])
        op, i = roles.get(node.output[0], ("", 0))
        if op == "BatchNormalization" and i in (1, 4):
            values = rng.uniform(0.5, 1.5, shape)
        elif len(shape) >= 2:
            values = rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
        else:
            values = rng.normal(0, 0.1, shape)
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), node.output[0]))
    # A softmax of very different logits is all zeros and ones, so logits are compared.
    if kept[-1].op_type == "Softmax":
        model.graph.output[0].name = kept.pop().input[0]
        model.graph.output[0].type.tensor_type.ClearField("shape")
    del model.graph.node[:]
    model.graph.node.extend(kept)
    model.ir_version = max(model.ir_version, 4)
    return model


def check(program, model, inputs, expected):
    """Returns exit code and output."""
    ran = subprocess.run([program, "check", str(model), "--inputs", str(inputs), "--expect", str(expected)],
                         capture_output=True, text=True, timeout=900)
    return ran.returncode, (ran.stderr + ran.stdout).strip()


def main(program, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    light = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    paths = sorted(light.glob("light_*.onnx"))
    if not paths:
        print("skipped: this onnx package has no light models")
        return 77
    failed = 0
    for path in paths:
        model = onnx.load(path)
        inputs = folder / "x.npy"
        np.save(inputs, rising(model))
        tries = [("", path, path.with_name(path.stem + "_output_0.pb"))]
        if onnxruntime and path.stem[len("light_"):] in RANDOM:
            random, expected = folder / "random.onnx", folder / "y.npy"
            random.write_bytes(with_random_weights(model, 1).SerializeToString())
            session = onnxruntime.InferenceSession(str(random), providers=["CPUExecutionProvider"])
            np.save(expected, session.run(None, {data_input(model).name: np.load(inputs)})[0])
            tries.append((", random weights", random, expected))
        for what, file, expected in tries:
            code, text = check(program, file, inputs, expected)
            failed += code != 0
            print("%s%s: %s" % (path.stem, what, text if code == 0 else "FAILED: exit %d: %s" % (code, text)))
    print("onnx %s: %d light models, %d failed" % (onnx.__version__, len(paths), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
