"""Runs sums that read a value several times through `lanista check`: onnx_sums.py LANISTA FOLDER.

A result must not use the memory of a value that is read again. The first model is Sum(relu(x), tanh(x), relu(x)). The
others are random: activations of earlier values, and sums, differences and products that read some of them twice. numpy
computes the expected results in double precision.
"""
import pathlib
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    print("skipped: onnx is not installed:", error)
    sys.exit(77)

MODELS = 60
SHAPES = ([5], [3, 4], [2, 3, 5])
UNARY = {"Relu": lambda x: np.maximum(x, 0), "Tanh": np.tanh, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
         "Neg": np.negative}
BINARY = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}


def known_nodes(x):
    relu, tanh = np.maximum(x, 0), np.tanh(x)
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Tanh", ["x"], ["b"]),
             helper.make_node("Sum", ["a", "b", "a"], ["y"])]
    return nodes, relu + tanh + relu


def random_nodes(rng, x):
    """Returns nodes, and the result of the last one."""
    names, values, nodes = ["x"], [x], []

    def put(op, picks, value):
        names.append("v%d" % len(nodes))
        values.append(value)
        nodes.append(helper.make_node(op, [names[i] for i in picks], [names[-1]]))

    for _ in range(rng.integers(3, 9)):
        kind = rng.integers(4)
        if kind < 2:
            op = rng.choice(sorted(UNARY))
            pick = int(rng.integers(len(values)))
            put(op, [pick], UNARY[op](values[pick]))
        elif kind == 2:
            op = rng.choice(sorted(BINARY))
            picks = [int(i) for i in rng.integers(len(values), size=2)]
            put(op, picks, BINARY[op](*[values[i] for i in picks]))
        else:
            picks = [int(i) for i in rng.integers(len(values), size=rng.integers(2, 5))]
            picks.append(picks[int(rng.integers(len(picks)))])
            put("Sum", picks, sum(values[i] for i in picks))
    # The last sum reads each unused value twice.
    read = {name for node in nodes for name in node.input}
    picks = [i for i, name in enumerate(names) if name not in read]
    nodes.append(helper.make_node("Sum", [names[i] for i in picks + picks[:1]], ["y"]))
    return nodes, sum(values[i] for i in picks + picks[:1])


def main(program, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    failed = 0
    for number in range(MODELS):
        shape = SHAPES[number % len(SHAPES)]
        x = rng.normal(size=[3] + shape).astype(np.float32)
        nodes, y = known_nodes(x.astype(np.float64)) if number == 0 else random_nodes(rng, x.astype(np.float64))
        graph = helper.make_graph(nodes, "sums", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"] + shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"] + shape)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model, full_check=True)
        paths = [folder / name for name in ("model.onnx", "x.npy", "y.npy")]
        paths[0].write_bytes(model.SerializeToString())
        np.save(paths[1], x)
        np.save(paths[2], y.astype(np.float32))
        ran = subprocess.run([program, "check", str(paths[0]), "--inputs", str(paths[1]), "--expect", str(paths[2])],
                             capture_output=True, text=True, timeout=120)
        if ran.returncode != 0:
            failed += 1
            print("FAILED: model %d: exit %d: %s\n%s" % (number, ran.returncode, (ran.stderr + ran.stdout).strip(),
                                                       onnx.printer.to_text(graph)))
    print("%d models with values that repeat, %d failed" % (MODELS, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
