"""Reads our files with the safetensors package: safetensors_check.py FILE... or FOLDER (made by onnx_corpus).

For x.safetensors, the folder x has one .npy for each tensor. Names, types, shapes and bits must be equal.
"""
import pathlib
import sys

try:
    import numpy as np
    from safetensors import safe_open
except ImportError as error:
    print("skipped: safetensors is not installed:", error)
    sys.exit(77)


def check(path):
    """Compares the tensors of a file, and returns their number."""
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
        except Exception as error:  # the other files are still checked
            failed += 1
            print("FAILED: %s: %s" % (path, error))
    print("safetensors: %d files, %d tensors, %d failed" % (len(paths), tensors, failed))
    return 1 if failed or not tensors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
