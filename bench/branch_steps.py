#!/usr/bin/env python3
"""How far off `lanista plan` is with the steps that searches inside trials give up.

    branch_steps.py LANISTA

Six trials a study, one worker; steps are counted, so neither machine nor neighbours matter. The first four studies are
those by which the plan's assumption was chosen, the others were not looked at for it.
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


def told(lanista, *arguments):
    return json.loads(subprocess.run([lanista, *arguments, "--json"], capture_output=True, text=True, check=True).stdout)


def main():
    lanista = os.path.abspath(sys.argv[1])
    print("| study | own steps | given up: expected | at most | really | all steps off by |\n| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("study.yaml", "w", encoding="utf-8") as file:
            file.write(STUDY)
        for number, (name, settings) in enumerate(CASES):
            overrides = [word for setting in settings for word in ("--set", setting)]
            plan = told(lanista, "plan", "study.yaml", "--workers", "1", *overrides)["beside"]
            out = f"out{number}"
            subprocess.run([lanista, "run", "study.yaml", "--out", out, "--quiet", "--workers", "1", *overrides],
                           capture_output=True, check=True)
            status = told(lanista, "status", out)
            own, really = status["steps"], status["searches"]["steps_given_up"]
            assert own == plan["own_steps"] and really <= plan["steps_most"], (name, plan, status)
            off = (own + plan["steps_expected"]) / (own + really) - 1
            print(f"| {name} | {own} | {plan['steps_expected']} in {plan['searches_expected']} searches | {plan['steps_most']} "
                  f"| {really} in {status['searches']['count']} | {100 * off:+.1f} % |", flush=True)


if __name__ == "__main__":
    main()
