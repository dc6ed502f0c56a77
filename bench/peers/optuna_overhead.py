#!/usr/bin/env python3
"""Measures the time of Optuna for a trial that does nothing, for comparison with `lanista bench overhead`.

It samples the same three numbers at random, with one report a trial. The arms are `optuna-memory` and
`optuna-journal`. Prints rows as `lanista bench --json` does. Needs Debian's python3-optuna.

usage: optuna_overhead.py [TRIALS]
"""
import json
import os
import sys
import tempfile
import time

try:
    import optuna
except ImportError:
    sys.exit("skipped: python3-optuna is not installed")

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
REPEATS = 3


def objective(trial):
    trial.suggest_float("lr", 1e-4, 1, log=True)
    trial.suggest_float("momentum", 0, 0.99)
    trial.suggest_float("weight_decay", 1e-6, 1e-2, log=True)
    trial.report(1.0 / (1 + trial.number % 1009), 1)
    return 1.0 / (1 + trial.number % 1009)


def journal(folder):
    path = os.path.join(folder, "journal.log")
    storage = getattr(optuna.storages, "JournalFileStorage", None)
    backend = storage(path) if storage else optuna.storages.journal.JournalFileBackend(path)
    return optuna.storages.JournalStorage(backend)


def run(storage):
    study = optuna.create_study(direction="maximize", storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))
    begin = time.perf_counter()
    study.optimize(objective, n_trials=TRIALS)
    return (time.perf_counter() - begin) * 1e3 / TRIALS


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    values = {"optuna-memory": [], "optuna-journal": []}
    for _ in range(REPEATS):
        values["optuna-memory"].append(run(None))
        with tempfile.TemporaryDirectory() as folder:
            values["optuna-journal"].append(run(journal(folder)))
    for arm, times in values.items():
        times.sort()
        median = times[len(times) // 2]
        print(json.dumps({"bench": "overhead", "case": f"trials/{TRIALS}", "arm": arm, "value": median,
                          "unit": "ms/trial", "repeats": REPEATS, "spread": (times[-1] - times[0]) / median}))


main()
