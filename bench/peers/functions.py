#!/usr/bin/env python3
"""Optuna on the functions of `lanista bench functions`, with the same budgets, and the mean ranks of all arms.

The arms are:

- optuna-random
- optuna-tpe: the defaults of TPE
- optuna-tpe-group: multivariate TPE with groups, on the conditional function only
- optuna-tpe+hyperband: TPE with the HyperbandPruner, if a training has several epochs

Prints rows as `lanista bench --json` does. With --ours FILE, the output of `lanista bench functions --json`, it also
prints the mean rank of each arm. Arms are ranked by mean regret for each function and number of trainings that both
sides have. With fewer seeds, the means of Optuna are less certain, not worse.

usage: functions.py [--seeds 50] [--trainings 100] [--case branin,...] [--ours FILE]
"""
import argparse
import json
import math
import statistics
import sys

import numpy
import optuna_search

EPOCHS = {"branin": 1, "hartmann6": 1, "tree": 1, "mf_hartmann": 27}
NOISE = 0.05
WEIGHTS = (1.0, 1.2, 3.0, 3.2)
SCALES = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
MIDDLES = ((0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886), (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
           (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650), (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381))
MINIMA = {"branin": 10 / (8 * math.pi), "hartmann6": -3.32236801141551, "tree": 0.1, "mf_hartmann": -3.32236801141551}


def hartmann(x, part):
    return -sum((w - 0.1 * (1 - part)) * math.exp(-sum(s * (v - m) ** 2 for s, v, m in zip(scale, x, middle)))
                for w, scale, middle in zip(WEIGHTS, SCALES, MIDDLES))


def suggest(case, trial):
    """Samples a configuration. Returns its true value as a function of the part of the epochs."""
    if case == "branin":
        x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
        bent = y - 5.1 / (4 * math.pi ** 2) * x * x + 5 / math.pi * x - 6
        value = bent * bent + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10
        return lambda part: value
    if case == "tree":
        if trial.suggest_categorical("first", [0, 1]) == 0:
            square, offset = ("x4", 0.1) if trial.suggest_categorical("left", [0, 1]) == 0 else ("x5", 0.2)
            line = "r8"
        else:
            square, offset = ("x6", 0.3) if trial.suggest_categorical("right", [0, 1]) == 0 else ("x7", 0.4)
            line = "r9"
        value = trial.suggest_float(line, 0, 1) + trial.suggest_float(square, -1, 1) ** 2 + offset
        return lambda part: value
    x = [trial.suggest_float(f"x{k}", 0, 1) for k in range(6)]
    return lambda part: hartmann(x, part)


def search(case, arm, trainings, seed):
    """The regrets after the epochs of `trainings` full trainings, and the seconds."""
    epochs, noise = EPOCHS[case], numpy.random.default_rng(seed)

    def measured(trial):
        value = suggest(case, trial)
        return (lambda epoch: value(epoch / epochs) + (NOISE * noise.standard_normal() if epochs > 1 else 0),
                value(1) - MINIMA[case])

    return optuna_search.search(measured, epochs, [n * epochs for n in trainings], arm, seed)


def arms_of(case):
    arms = ["optuna-random", "optuna-tpe"]
    if case == "tree":
        arms.append("optuna-tpe-group")
    return arms + ["optuna-tpe+hyperband"] if EPOCHS[case] > 1 else arms


def mean_ranks(rows):
    """(mean rank, arm, number of cases) of each arm, over the cases that both sides have."""
    cases = {}
    for row in rows:
        if row["unit"] == "regret":
            cases.setdefault(row["case"], {})[row["arm"]] = row["value"]
    ranks, counts = {}, {}
    for values in cases.values():
        if not any(arm.startswith("optuna") for arm in values) or all(arm.startswith("optuna") for arm in values):
            continue
        for arm, value in values.items():
            better = sum(other < value for other in values.values())
            equal = sum(other == value for other in values.values())
            ranks[arm] = ranks.get(arm, 0) + better + (equal + 1) / 2
            counts[arm] = counts.get(arm, 0) + 1
    return sorted((ranks[arm] / counts[arm], arm, counts[arm]) for arm in ranks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--trainings", type=int, default=100)
    parser.add_argument("--case", default=",".join(EPOCHS))
    parser.add_argument("--ours")
    options = parser.parse_args()
    print(f"optuna {optuna_search.quiet()}", file=sys.stderr)
    trainings = [n for n in (10, 25, 50, 100) if n < options.trainings] + [options.trainings]
    rows = []
    for case in options.case.split(","):
        for arm in arms_of(case):
            found, seconds = zip(*(search(case, arm, trainings, seed) for seed in range(options.seeds)))
            for mark, values in zip(trainings, zip(*found)):
                rows.append({"bench": "functions", "case": f"{case}/{mark}", "arm": arm,
                             "value": statistics.fmean(values), "unit": "regret", "repeats": options.seeds,
                             "spread": statistics.stdev(values) if len(values) > 1 else 0})
                print(json.dumps(rows[-1]))
            print(json.dumps({"bench": "functions", "case": f"{case}-cost", "arm": arm,
                              "value": statistics.fmean(seconds), "unit": "s/search", "repeats": options.seeds,
                              "spread": 0}), flush=True)
    if not options.ours:
        return
    with open(options.ours) as file:
        rows += [json.loads(line) for line in file]
    for rank, arm, count in mean_ranks(rows):
        print(f"{rank:6.2f}  {arm}  ({count} cases)")


main()
