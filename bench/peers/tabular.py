#!/usr/bin/env python3
"""Optuna on the table of `lanista bench tabular`, with the same budgets.

A trial is a cell of the table, with a choice of an operation for each of six edges. Without --epochs, a trial is a
query, and its value is the final validation accuracy. With --epochs E, a trial has a simulated learning curve, and the
budget counts epochs. The curves have the distribution of `bench/table_curves.h`, with other random numbers.

Prints the mean and the deviation of the regret over seeds, in points, after 50, 100, 200 and 500 trainings. With
--epochs, after 10, 25 and 50.

usage: tabular.py --file accuracy.csv [--epochs 27] [--seeds 200] [--column cifar10] [--arms optuna-random,...]
"""
import argparse
import csv
import statistics

import numpy
import optuna_search

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
NOISE = 3.0


def read(path, column):
    """The final validation accuracy of each cell. A cell is the tuple of its operations."""
    with open(path, newline="") as file:
        rows = {}
        for row in csv.DictReader(file):
            names = [part.split("~")[0] for part in row["cell"].replace("+", "|").split("|") if "~" in part]
            rows[tuple(names)] = float(row[column + "-val"])
        return rows


class Curves:
    """The learning curves of the cells of one search."""

    def __init__(self, table, epochs, seed):
        self.table, self.epochs, self.worst = table, epochs, min(table.values())
        self.rng, self.shapes, self.values = numpy.random.default_rng([seed, 1]), {}, {}

    def validation(self, cell, epoch):
        if (cell, epoch) not in self.values:
            drop, rate = self.shapes.setdefault(cell, (self.rng.uniform(0.38, 0.62), self.rng.uniform(0.1, 1)))
            end, last = self.table[cell], self.epochs ** -rate
            left = 0 if epoch == self.epochs else (epoch ** -rate - last) / (1 - last)
            value = end - drop * (end - self.worst) * left + NOISE * left ** 0.5 * self.rng.standard_normal()
            self.values[cell, epoch] = min(max(value, 0), 100)
        return self.values[cell, epoch]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", required=True)
    parser.add_argument("--column", default="cifar10")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--arms")
    options = parser.parse_args()
    table = read(options.file, options.column)
    best, edges = max(table.values()), len(next(iter(table)))
    trainings = (10, 25, 50) if options.epochs > 1 else (50, 100, 200, 500)
    arms = ["optuna-random", "optuna-tpe"] + (["optuna-tpe+hyperband"] if options.epochs > 1 else [])
    print(f"optuna {optuna_search.quiet()}, {len(table)} cells, best {best:.2f}; after {trainings} trainings")
    for arm in options.arms.split(",") if options.arms else arms:
        runs, seconds = [], 0.0
        for seed in range(options.seeds):
            curves = Curves(table, options.epochs, seed)

            def suggest(trial):
                cell = tuple(trial.suggest_categorical(f"edge{k}", OPERATIONS) for k in range(edges))
                return (lambda epoch: -curves.validation(cell, epoch)), best - table[cell]

            marks = [n * options.epochs for n in trainings]
            regrets, spent = optuna_search.search(suggest, options.epochs, marks, arm, seed)
            runs.append(regrets)
            seconds += spent
        columns = "  ".join(f"{statistics.fmean(v):.2f} +- {statistics.stdev(v) if len(v) > 1 else 0:.2f}"
                            for v in zip(*runs))
        print(f"{arm:22} {columns}  {options.seeds} seeds, {seconds / options.seeds:.1f} s/search", flush=True)


main()
