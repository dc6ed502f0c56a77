"""What the safetensors package reads from our files: safetensors_check.py FILE... or FOLDER (made by onnx_corpus).

Beside x.safetensors the folder x holds one .npy a tensor; names, types, shapes and bits must agree.
"""
import pathlib
import sys

try:
    import numpy as np
    from safetensors import safe_open
except ImportError as error:
    print("skipped: safetensors is not here:", error)
    sys.exit(77)


def check(path):
    """The number of tensors."""
    folder = path.with_suffix("")
    want = {dump.name[: -len(".npy")]: np.load(dump) for dump in folder.glob("*.npy")}
    with safe_open(str(path), framework="numpy") as file:
        names = set(file.keys())
        assert names == set(want), names ^ set(want)
        for name, array in want.items():
            seen = file.get_tensor(name)
            assert seen.dtype == array.dtype and seen.shape == array.shape, name
            assert seen.tobytes() == array.tobytes(), name
        assert file.metadata(), "no metadata"
    return len(want)


def main(arguments):
    paths = []
    for argument in map(pathlib.Path, arguments):
        paths += sorted(argument.rglob("*.safetensors")) if argument.is_dir() else [argument]
    tensors, failed = 0, 0
    for path in paths:
        try:
            tensors += check(path)
        except Exception as error:  # every file is told, whatever goes wrong
            failed += 1
            print("FAILED: %s: %s" % (path, error))
    print("safetensors: %d files, %d tensors, %d failed" % (len(paths), tensors, failed))
    return 1 if failed or not tensors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
