"""Compares the folds of folds_corpus with the splitters of scikit-learn: folds_oracle.py FILE

Sizes are those of its splitters. Counts of classes differ as little as those of StratifiedKFold. Groups are whole, and
as equal as those of GroupKFold. Windows in time are those of TimeSeriesSplit if all times differ.
"""
import json
import sys
from collections import Counter

try:
    import numpy as np
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit
except ImportError as error:
    print("skipped: scikit-learn is not installed:", error)
    sys.exit(77)


def sizes(splits):
    return [len(validation) for _, validation in splits]


def class_spread(labels, folds):
    """Returns the largest difference between folds in the count of a class."""
    counts = [Counter(labels[fold].tolist()) for fold in folds]
    return max(max(c[k] for c in counts) - min(c[k] for c in counts) for k in set(labels.tolist()))


def partition(case, rows):
    """Checks that each row is in one fold and that the other folds train on it."""
    seen = Counter(row for training in case["trainings"] for row in training["validation"])
    assert seen == Counter(rows.tolist()), "validated once"
    for training in case["trainings"]:
        both = sorted(training["train"] + training["validation"])
        assert both == rows.tolist(), "trained on by the others"


def check(case):
    rows = np.array(case["rows"])
    labels = np.array(case["labels"])
    groups = np.array(case["groups"])
    times = np.array(case["times"])
    k = case["folds"]
    kind = case["kind"]
    n = len(rows)
    dummy = np.zeros((n, 1))

    if "refused" in case:
        if kind in ("rows", "blocks"):
            assert k > n
        elif kind == "classes":
            assert k > min(Counter(labels[rows].tolist()).values())
        elif kind == "times":
            assert k > len(set(times[rows].tolist())) - 1
        else:
            assert k > len(set(groups[rows].tolist()))
        return "refused"

    ours = [np.array(t["validation"]) for t in case["trainings"]]
    assert len(ours) == k and all(len(fold) > 0 for fold in ours)
    if kind == "times":
        order = np.argsort(times[rows], kind="stable")
        for training in case["trainings"]:
            assert times[training["train"]].max() < times[training["validation"]].min(), "no future row in training"
        if not case["ties"] and n > k:
            for training, (train, validation) in zip(case["trainings"], TimeSeriesSplit(k).split(dummy)):
                assert sorted(rows[order][train].tolist()) == training["train"]
                assert sorted(rows[order][validation].tolist()) == training["validation"]
        return kind
    partition(case, rows)
    if kind in ("rows", "blocks"):
        assert [len(f) for f in ours] == sizes(KFold(k).split(dummy))
        if kind == "blocks":
            for fold, (_, validation) in zip(ours, KFold(k).split(dummy)):
                assert fold.tolist() == rows[validation].tolist()
    elif kind == "classes":
        theirs = list(StratifiedKFold(k).split(dummy, labels[rows]))
        assert sorted(len(f) for f in ours) == sorted(sizes(theirs))
        assert class_spread(labels, ours) <= 1
        assert class_spread(labels, ours) <= class_spread(labels[rows], [v for _, v in theirs])
    else:
        for training in case["trainings"]:
            assert not set(groups[training["train"]]) & set(groups[training["validation"]]), "a group in two folds"
        if kind == "groups":
            theirs = sizes(GroupKFold(k).split(dummy, groups=groups[rows]))
            # Both give the largest group to the smallest fold; ties may be broken in another way.
            assert sorted(len(f) for f in ours) == sorted(theirs), (sorted(map(len, ours)), sorted(theirs))
    return kind


def main():
    seen = Counter()
    failed = 0
    with open(sys.argv[1]) as file:
        for number, line in enumerate(file):
            try:
                seen[check(json.loads(line))] += 1
            except AssertionError as error:
                failed += 1
                print("case", number, json.loads(line)["kind"], "differs:", error)
    print(sum(seen.values()), "dealings as scikit-learn's:", dict(sorted(seen.items())))
    if failed or len(seen) < 6:
        print(failed, "differ")
        return 1
    return 0


sys.exit(main())
