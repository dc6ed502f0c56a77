#!/usr/bin/env python3
"""Measures the error of `lanista plan` and `lanista simulate`, with and without times of earlier studies.

    bench/forecasts.py build/release/lanista [--workers 2] [--repeats 3] [--set KEY=VALUE]

Four studies are trained with two seeds: digits with an MLP, digits with a CNN, a table, and a text. The predicted value
is the training time of the second seed, from the first to the last second of its workers. The arms differ in the known
times: `blind` has none (--profiles off), `others` has those of the other three studies, `own` has those of the first
seed, and `all` has all four.

Prints rows as `lanista bench --json` does. `value` is the error in percent, the median over repeats. It needs the
standard library only.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent

STUDIES = {
    "digits-mlp": """
model: {base: "builtin:small-mlp"}
space: {mutate: [{widen: {by: [0.5, 2]}}, deepen], params: {lr: "log(0.003, 0.1)", batch: "choice(16, 32, 64)"}}
data: {source: "builtin:digits"}
train: {epochs: 40}
strategy: {name: random, mutations: [0, 2]}
""",
    "digits-cnn": """
model: {base: "builtin:small-cnn"}
space: {mutate: [{widen: {by: [0.5, 2]}}], params: {lr: "log(0.003, 0.1)", batch: "choice(16, 32, 64)"}}
data: {source: "builtin:digits"}
train: {epochs: 12}
strategy: {name: random, mutations: [0, 2]}
""",
    "table": f"""
data: {{source: "csv:{EXAMPLES}/examples/data/flats.csv?target=price"}}
model:
  space:
    layers:
      - repeat:
          {{label: depth, depth: "int(0, 3)", each: shared,
            layers: [{{linear: {{out: {{label: width, of: [16, 32, 64, 128]}}}}}}, relu]}}
      - linear: {{out: outputs}}
space: {{params: {{optimizer: adamw, lr: "log(5e-4, 3e-2)", batch: [16, 32, 64]}}}}
train: {{epochs: 60}}
goal: maximize val_r2
strategy: {{name: random}}
""",
    "text": f"""
data: {{source: "tokens:{EXAMPLES}/LICENSE?context=8", batch: 8}}
model: {{space: "builtin:transformer?width=16&depth=2&causal=true"}}
space: {{params: {{optimizer: adam, lr: "log(3e-4, 1e-2)"}}}}
train: {{epochs: 3}}
goal: minimize val_loss
strategy: {{name: random}}
""",
}
COMMON = "stop: none\nbudget: {trials: 16}\nkeep: {top: 1}\n"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(" ".join(map(str, command)) + "\n" + done.stderr)
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lanista")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], help="a setting of every study")
    parser.add_argument("--only", choices=STUDIES, action="append")
    options = parser.parse_args()
    more = [part for each in options.set for part in ("--set", each)]
    root = pathlib.Path(tempfile.mkdtemp(prefix="lanista-forecasts-"))
    try:
        forecasts(options, more, root)
    finally:
        shutil.rmtree(root)


def forecasts(options, more, root):
    cluster = root / "cluster.yaml"
    cluster.write_text(f"workers: {options.workers}\nshares: 1\nwidest: 1\n")
    names = options.only or list(STUDIES)
    errors = {}
    for repeat in range(options.repeats):
        measured = {}
        for name in names:
            file = root / (name + ".yaml")
            file.write_text(f"name: {name}\n" + STUDIES[name] + COMMON)
            for seed in (1, 2):
                times = root / f"times-{repeat}" / name if seed == 1 else "off"
                out = root / f"{name}-{repeat}-{seed}"
                run([options.lanista, "run", str(file), "--out", str(out), "--seed", str(seed), "--quiet", "--workers",
                     str(options.workers), "--set", f"run.profiles={times}", *more])
            status = json.loads(run([options.lanista, "status", str(root / f"{name}-{repeat}-2"), "--json"]))
            measured[name] = status["workers"]["seconds"]
        for name in names:
            known = {"blind": [], "others": [n for n in names if n != name], "own": [name], "all": names}
            for arm, of in known.items():
                store = root / f"store-{repeat}-{name}-{arm}"
                store.mkdir()
                for other in of:
                    for file in (root / f"times-{repeat}" / other).iterdir():
                        shutil.copy(file, store)
                profiles = ["--profiles", str(store) if of else "off"]
                study = str(root / (name + ".yaml"))
                plan = json.loads(run([options.lanista, "plan", study, "--json", "--trials", "16", "--workers",
                                       str(options.workers), "--set", "run.seed=2", *profiles, *more]))
                errors.setdefault((name, "plan-" + arm), []).append((plan["seconds"], measured[name]))
                with_seed = root / "seeded.yaml"
                with_seed.write_text((root / (name + ".yaml")).read_text() + "run: {seed: 2}\n")
                simulation = json.loads(run([options.lanista, "simulate", str(with_seed), "--cluster", str(cluster),
                                             "--json", *profiles]))
                errors.setdefault((name, "simulate-" + arm), []).append((simulation["makespan"], measured[name]))
    for (name, arm), pairs in errors.items():
        percent = sorted(100 * abs(predicted / real - 1) for predicted, real in pairs)
        print(json.dumps({"bench": "forecasts", "case": name, "arm": arm, "value": round(percent[len(percent) // 2], 1),
                          "unit": "%", "repeats": len(percent), "spread": round(percent[-1] - percent[0], 1),
                          "predicted_seconds": round(sorted(p for p, _ in pairs)[len(pairs) // 2], 3),
                          "real_seconds": round(sorted(r for _, r in pairs)[len(pairs) // 2], 3)}))


if __name__ == "__main__":
    main()
