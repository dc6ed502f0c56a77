"""Compares columns with a large mean with numpy in extended precision: precision_oracle.py LANISTA COUNT [SEED]

COUNT random tables, as CSV and as arrays, have columns with means up to 1e12 and deviations that may be below one.
A small model is trained on each. Means, deviations and metrics must be those of the file's numbers, and outputs of the
exported ONNX model those of `predict`.
"""
import csv
import json
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print("skipped: numpy or onnxruntime is not installed:", error)
    sys.exit(77)


def column(rng, rows):
    """Returns ordinary numbers, Unix times, numbers near a large one, years, or numbers of a skewed distribution."""
    kind = rng.integers(5)
    if kind == 0:
        return rng.normal(size=rows)
    if kind == 1:
        return np.round(1.7e9 + rng.normal(size=rows) * 10 ** rng.uniform(1, 7))
    if kind == 2:
        return 10 ** rng.uniform(3, 12) * rng.choice([-1, 1]) + rng.normal(size=rows) * 10 ** rng.uniform(-2, 3)
    if kind == 3:
        return np.round(2000 + rng.uniform(size=rows) * 25)
    return rng.lognormal(size=rows) * 10 ** rng.uniform(-3, 6)


def table(rng):
    """Returns features [rows, columns] and a target that depends on them."""
    rows = int(rng.integers(60, 200))
    x = np.stack([column(rng, rows) for _ in range(rng.integers(1, 5))], 1)
    deviation = x.std(0)
    z = (x - x.mean(0)) / np.where(deviation > 0, deviation, 1)
    like = column(rng, rows)
    noise = 0.1 * rng.normal(size=rows)
    return x, like.mean() + (z @ rng.normal(size=x.shape[1]) + noise) * max(like.std(), 1e-9)


class Case:
    def __init__(self, program, folder, seed):
        self.program, self.folder, self.seed, self.faults = program, folder, seed, []
        self.x, self.y = table(np.random.default_rng(seed))
        self.as_csv, self.folds = seed % 2 == 0, seed % 5 == 4

    def call(self, *arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            raise SystemExit(f"seed {self.seed}: {arguments}: exit status {done.returncode}\n{done.stderr}")
        return done.stdout

    def near(self, what, found, expected, tolerance):
        difference = np.abs(np.asarray(found, np.longdouble) - np.asarray(expected, np.longdouble))
        if not np.all(difference <= tolerance):
            self.faults.append(f"{what} differs by {difference.max():g}, allowed {np.max(tolerance):g}")

    def write(self):
        if self.as_csv:
            with open(self.folder + "/d.csv", "w", encoding="utf-8") as file:
                names = [f"x{i}" for i in range(self.x.shape[1])] + ["y"]
                file.write(",".join(names) + "\n")
                for row in np.column_stack([self.x, self.y]):
                    file.write(",".join(repr(float(value)) for value in row) + "\n")
            return "csv:d.csv?target=y&task=numbers", "d.csv"
        np.save(self.folder + "/x.npy", self.x)
        np.save(self.folder + "/y.npy", self.y.reshape(-1, 1))
        return "npy:x.npy,y.npy?task=numbers", "npy:x.npy,y.npy"

    def check(self):
        source, new = self.write()
        spec = json.loads(self.call("data", "check", "--json", source))["data"]
        train = [int(row) for row in self.call("data", "rows", source, "--part", "train").split()]
        x, y = self.x.astype(np.longdouble), self.y.astype(np.longdouble)  # float64 rounds the means too much
        mean, deviation = y[train].mean(), y[train].std()
        target = spec["target_normalization"]
        self.near("mean of the target", target["mean"], [mean], 1e-6 * deviation + 1e-15 * abs(mean))
        self.near("deviation of the target", target["scale"], [deviation], 1e-5 * deviation)
        means, deviations = x[train].mean(0), x[train].std(0)
        deviations = np.where(deviations > 0, deviations, 1)
        if len(spec["normalization"]["mean"]) == len(means):
            self.near("means", spec["normalization"]["mean"], means, 1e-6 * deviations + 1e-15 * abs(means))
            self.near("deviations", spec["normalization"]["scale"], deviations, 1e-5 * deviations)
        folds = ["--set", "data.folds=2"] if self.folds else []
        self.call("run", "--set", "data.source=" + source, "--set", "model.base=builtin:small-mlp", "--trials", "2",
                  "--epochs", "3", "--quiet", "--out", "s", *folds)
        self.call("predict", "s", new, "--out", "p.csv")
        with open(self.folder + "/p.csv", encoding="utf-8") as file:
            predicted = np.array([float(row["prediction"]) for row in csv.DictReader(file)])
        report = json.loads(self.call("eval", "s", new, "--json"))
        metrics = report.get("metrics", report)
        error = predicted - y
        unit = np.spacing(abs(float(mean))) / deviation  # predictions are written as float64
        rounding = 5e-6 * deviation + 3e-16 * abs(mean)
        self.near("mae", metrics["mae"], np.abs(error).mean(), rounding)
        self.near("rmse", metrics["rmse"], np.sqrt((error**2).mean()), rounding)
        r2 = 1 - (error**2).sum() / ((y - y.mean()) ** 2).sum()
        self.near("r2", metrics["r2"], r2, (1e-4 + unit) * (1 + abs(r2)))
        self.call("export", "s", "--onnx", "m.onnx")
        session = onnxruntime.InferenceSession(self.folder + "/m.onnx")
        entry = session.get_inputs()[0]
        given = self.x.astype(np.float64 if "double" in entry.type else np.float32)
        outputs = session.run(None, {entry.name: given})[0].ravel()
        self.near("outputs of ONNX", outputs, predicted, 2e-4 * deviation * (1 + np.abs(predicted - mean) / deviation))
        return self.faults


def main(program, count, seed):
    bad = 0
    for each in range(seed, seed + count):
        with tempfile.TemporaryDirectory() as folder:
            for fault in Case(program, folder, each).check():
                bad += 1
                print(f"seed {each}: {fault}", flush=True)
    print(f"{count} tables, {bad} numbers differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1))
