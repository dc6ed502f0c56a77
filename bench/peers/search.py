#!/usr/bin/env python3
"""Times a whole search, by lanista and by Optuna with PyTorch, from the program start to the winner.

The sides run in turn, and each round starts with the other side. Prints rows as `lanista bench --json` does: the
seconds of each side, and a row `ratio` (unit x). The ratio is the time of the fastest setting of Optuna over the time
of lanista, the median over rounds. Fails if the best or the median validation accuracies differ by more than
--tolerance.

usage: search.py LANISTA [--cases mlp cnn] [--repeats N] [--alternatives]
"""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# For each model, the best setting on two cores (README.md), then the others.
SETTINGS = {
    "mlp": [["--processes", "2"],
            ["--processes", "1", "--jobs", "2"],
            ["--processes", "1"],
            ["--processes", "1", "--threads", "2"],
            ["--processes", "2", "--update", "foreach"],
            ["--processes", "2", "--jit"]],
    "cnn": [["--processes", "2", "--channels-last"],
            ["--processes", "2"],
            ["--processes", "1", "--jobs", "2", "--channels-last"],
            ["--processes", "1", "--channels-last"],
            ["--processes", "1", "--threads", "2", "--channels-last"],
            ["--processes", "2", "--channels-last", "--update", "foreach"],
            ["--processes", "2", "--channels-last", "--jit"]],
}


def environment():
    """The environment with the name of the OpenBLAS kernels, because 0.3.21 selects slow ones on newer CPUs."""
    env = dict(os.environ, OMP_WAIT_POLICY="PASSIVE", OPENBLAS_NUM_THREADS="1")
    with open("/proc/cpuinfo") as cpuinfo:
        flags = next((line for line in cpuinfo if line.startswith("flags")), "").split()
    if "OPENBLAS_CORETYPE" not in env and "avx2" in flags:
        env["OPENBLAS_CORETYPE"] = "SkylakeX" if "avx512dq" in flags else "Haswell"
    return env


def timed(command, env):
    begin = time.perf_counter()
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return seconds, done.stdout


def run_ours(lanista, case, folder, env):
    """The seconds, and the last validation accuracy of each trial."""
    out = tempfile.mkdtemp(dir=folder) + "/study"
    seconds, _ = timed([lanista, "run", f"{HERE}/search-{case}.yaml", "--out", out, "--quiet", "--no-color"], env)
    shown = subprocess.run([lanista, "export", out, "--csv", out + ".csv"], env=env, capture_output=True, text=True)
    if shown.returncode != 0:
        sys.exit(shown.stderr)
    return seconds, accuracies(out + ".csv")


def accuracies(path):
    with open(path, newline="") as table:
        return [float(row["metrics.val_accuracy"] or 0) for row in csv.DictReader(table)]


def run_theirs(case, setting, data, env):
    threads = setting[setting.index("--threads") + 1] if "--threads" in setting else "1"
    seconds, out = timed(["/usr/bin/python3", f"{HERE}/optuna_torch.py", case, data, *setting],
                         dict(env, OMP_NUM_THREADS=threads))
    return seconds, json.loads(out)


def check_accuracies(case, ours, theirs, tolerance):
    """Ends the program if the accuracies of the sides differ."""
    for name, of in (("best", max), ("median", statistics.median)):
        if abs(of(ours) - of(theirs)) > tolerance:
            sys.exit(f"{case}: the {name} validation accuracies differ: {of(ours):.4f} ours, {of(theirs):.4f} theirs")


def row(case, arm, values, unit):
    values = sorted(values)
    middle = statistics.median(values)
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else [middle] * 3
    print(json.dumps({"bench": "search", "case": case, "arm": arm, "value": round(middle, 4), "unit": unit,
                      "repeats": len(values), "spread": round((quarters[2] - quarters[0]) / middle, 3)}), flush=True)


def compare(options, case, data, folder, env):
    settings = SETTINGS[case] if options.alternatives else SETTINGS[case][:1]
    ours, theirs, results = [], [[] for _ in settings], {}
    for round_number in range(options.repeats):
        sides = ["ours", *range(len(settings))]
        if round_number % 2:
            sides.reverse()
        for side in sides:
            if side == "ours":
                seconds, results["ours"] = run_ours(options.lanista, case, folder, env)
                ours.append(seconds)
            else:
                seconds, result = run_theirs(case, settings[side], data, env)
                theirs[side].append(seconds)
                results["theirs"], results["versions"] = result["val"], result
        check_accuracies(case, results["ours"], results["theirs"], options.tolerance)
    label = f"{case}/{len(results['ours'])}"
    row(label, "ours", ours, "s")
    for setting, seconds in zip(settings, theirs):
        row(label, "optuna-torch " + " ".join(setting), seconds, "s")
    best = min(theirs, key=statistics.median)
    row(label, "ratio", [b / a for a, b in zip(ours, best)], "x")
    print(json.dumps({"bench": "search", "case": label, "best_ours": max(results["ours"]),
                      "best_theirs": max(results["theirs"]), "median_ours": statistics.median(results["ours"]),
                      "median_theirs": statistics.median(results["theirs"]), "torch": results["versions"]["torch"],
                      "optuna": results["versions"]["optuna"]}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lanista", help="the program")
    parser.add_argument("--cases", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--alternatives", action="store_true", help="also time the slower settings")
    parser.add_argument("--tolerance", type=float, default=0.015,
                        help="allowed difference of accuracies; 0.015 is four of 270 rows")
    options = parser.parse_args()
    env = environment()
    missing = subprocess.run(["/usr/bin/python3", "-c", "import torch, optuna"], env=env, capture_output=True)
    if missing.returncode != 0:
        sys.exit("skipped: Debian's python3-torch and python3-optuna are not installed")
    with tempfile.TemporaryDirectory() as folder:
        for part in ("train", "validation", "test"):
            timed([options.lanista, "data", "export", "builtin:digits", "--part", part, "--npy", f"{folder}/{part}"],
                  env)
        for case in options.cases:
            compare(options, case, folder, folder, env)


main()
