#!/usr/bin/env python3
"""Compares the discarded steps of tune searches that `lanista plan` predicts with those of real studies.

    branch_steps.py LANISTA

Each study has six trials and one worker. It counts steps, so the machine has no effect. The assumption of the plan was
chosen by the first four studies only.
"""

import json
import os
import subprocess
import sys
import tempfile

STUDY = """name: branch-steps
data: {source: builtin:digits, batch: 32}
model: {base: builtin:small-cnn}
space:
  mutate: [{widen: {by: [0.5, 2]}}]
  params: {label_smoothing: "quant(0, 0.1, 0.02)"}
train:
  epochs: 20
  tune: {mltuner: {params: {lr: "log(1e-4, 1)", momentum: "range(0, 0.95)", weight_decay: "log(1e-6, 1e-2)"}}}
goal: maximize val_accuracy
strategy: {name: random, slots: 6}
budget: {trials: 6}
stop: {rule: none}
"""

CASES = [("20 epochs", []), ("30 epochs", ["train.epochs=30"]), ("10 epochs", ["train.epochs=10"]),
         ("40 epochs, seed 3", ["train.epochs=40", "run.seed=3"]),
         ("20 epochs, seed 4", ["run.seed=4"]), ("30 epochs, seed 5", ["train.epochs=30", "run.seed=5"]),
         ("25 epochs of small-mlp, seed 6", ["train.epochs=25", "model.base=builtin:small-mlp", "run.seed=6"]),
         ("15 epochs, batch 64, seed 7", ["train.epochs=15", "data.batch=64", "run.seed=7"])]


def json_of(lanista, *arguments):
    """The JSON that a verb prints."""
    done = subprocess.run([lanista, *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    lanista = os.path.abspath(sys.argv[1])
    print("| study | own steps | discarded: expected | at most | measured | error of all steps |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("study.yaml", "w", encoding="utf-8") as file:
            file.write(STUDY)
        for number, (name, settings) in enumerate(CASES):
            overrides = [word for setting in settings for word in ("--set", setting)]
            plan = json_of(lanista, "plan", "study.yaml", "--workers", "1", *overrides)["beside"]
            out = f"out{number}"
            subprocess.run([lanista, "run", "study.yaml", "--out", out, "--quiet", "--workers", "1", *overrides],
                           capture_output=True, check=True)
            status = json_of(lanista, "status", out)
            own, discarded = status["steps"], status["searches"]["steps_given_up"]
            assert own == plan["own_steps"] and discarded <= plan["steps_most"], (name, plan, status)
            error = (own + plan["steps_expected"]) / (own + discarded) - 1
            print(f"| {name} | {own} | {plan['steps_expected']} in {plan['searches_expected']} searches "
                  f"| {plan['steps_most']} | {discarded} in {status['searches']['count']} | {100 * error:+.1f} % |",
                  flush=True)


if __name__ == "__main__":
    main()
