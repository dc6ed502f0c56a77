"""Compares the metrics of metrics_corpus with those of scikit-learn: metrics_oracle.py FILE

Each metric of each case is computed from the scores, and may differ by 1e-9. Metrics that scikit-learn lacks are
computed with numpy: top<k> with our rule for ties, calibration error, unclipped log loss.
"""
import json
import math
import sys
import warnings

try:
    import numpy as np
    from sklearn import metrics as sk
    from sklearn.exceptions import UndefinedMetricWarning
    from sklearn.preprocessing import label_binarize
except ImportError as error:
    print("skipped: scikit-learn is not installed:", error)
    sys.exit(77)

BAR = 1e-9
BINS = 15


def defined(call, *args, **options):
    """Returns the metric, or NaN if this version of scikit-learn refuses to compute it."""
    try:
        return float(call(*args, **options))
    except ValueError:
        return math.nan


def log_probabilities(logits):
    """Returns probabilities, and the largest one of each row."""
    top = logits.argmax(axis=1)
    shifted = logits - logits.max(axis=1, keepdims=True)
    others = np.exp(shifted)
    others[np.arange(len(logits)), top] = 0
    rest = others.sum(axis=1)
    return shifted - np.log1p(rest)[:, None], 1 / (1 + rest)


def calibration_error(confidence, right):
    edges = np.arange(1, BINS) / BINS
    place = np.searchsorted(edges, confidence, side="left")
    out = 0.0
    for b in np.unique(place):
        inside = place == b
        out += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return out


def of_ranks(score, labels, logits):
    """Returns ROC AUC: for two classes by the score of class 1, for more the mean over each class against the rest."""
    classes = logits.shape[1]
    if classes == 2:
        return defined(score, labels == 1, logits[:, 1] - logits[:, 0])
    log_p, _ = log_probabilities(logits)
    return float(np.mean([defined(score, labels == k, log_p[:, k]) for k in range(classes)]))


def of_classes(case):
    classes = case["classes"]
    logits = np.array(case["scores"]).reshape(-1, classes)
    labels = np.array(case["labels"])
    predicted = logits.argmax(axis=1)
    log_p, confidence = log_probabilities(logits)
    p = np.exp(log_p)
    out = {
        "accuracy": sk.accuracy_score(labels, predicted),
        "balanced_accuracy": sk.balanced_accuracy_score(labels, predicted),
        "f1_macro": sk.f1_score(labels, predicted, average="macro", zero_division=0),
        "matthews": sk.matthews_corrcoef(labels, predicted),
        "log_loss": -log_p[np.arange(len(labels)), labels].mean(),
        "calibration_error": calibration_error(confidence, predicted == labels),
        "roc_auc": of_ranks(sk.roc_auc_score, labels, logits),
        "average_precision": of_ranks(sk.average_precision_score, labels, logits),
    }
    out["loss"] = out["log_loss"]
    out["perplexity"] = np.exp(out["log_loss"])
    if classes == 2:
        out["f1"] = sk.f1_score(labels, predicted, zero_division=0)
    order = np.argsort(-logits, axis=1, kind="stable")
    for name in case["metrics"]:
        if name.startswith("top"):
            out[name] = (order[:, : int(name[3:])] == labels[:, None]).any(axis=1).mean()
    if case["plain"]:
        check_directly(case, labels, p / p.sum(axis=1, keepdims=True))
    return out


def check_directly(case, labels, p):
    """For cases without tiny probabilities: the means over classes and the log loss of scikit-learn."""
    classes, ours = case["classes"], case["metrics"]
    if p.min() > 1e-15:
        compare(case, "log_loss", sk.log_loss(labels, p, labels=list(range(classes))))
    if classes == 2:
        compare(case, "roc_auc", defined(sk.roc_auc_score, labels, p[:, 1]))
        compare(case, "average_precision", defined(sk.average_precision_score, labels, p[:, 1]))
        return
    indicators = label_binarize(labels, classes=list(range(classes)))
    compare(case, "average_precision", defined(sk.average_precision_score, indicators, p, average="macro"))
    if len(set(labels)) == classes:
        auc = sk.roc_auc_score(labels, p, multi_class="ovr", average="macro")
        compare(case, "roc_auc", auc)
    else:
        assert ours["roc_auc"] == "nan", case["case"]


def of_numbers(case):
    predicted = np.array(case["scores"]).reshape(-1, case["width"])
    targets = np.array(case["targets"]).reshape(-1, case["width"])
    squared = sk.mean_squared_error(targets, predicted, multioutput="raw_values")
    out = {
        "mae": sk.mean_absolute_error(targets, predicted),
        "rmse": np.sqrt(squared).mean(),
        "r2": sk.r2_score(targets, predicted),
        "mape": sk.mean_absolute_percentage_error(targets, predicted),
    }
    for name in case["metrics"]:
        if name.startswith("quantile"):
            out[name] = sk.mean_pinball_loss(targets, predicted, alpha=int(name[8:]) / 100)
    return out


def of_labels(case):
    logits = np.array(case["scores"]).reshape(-1, case["width"])
    truth = np.array(case["targets"]).reshape(-1, case["width"]).astype(int)
    predicted = (logits > 0).astype(int)
    loss = np.logaddexp(0, np.where(truth == 1, -logits, logits)).mean()
    columns = range(case["width"])
    return {
        "accuracy": 1 - (sk.hamming_loss(truth, predicted) if case["width"] > 1 else (truth != predicted).mean()),
        "exact_match": sk.accuracy_score(truth, predicted),
        "f1_macro": np.mean([sk.f1_score(truth[:, k], predicted[:, k], zero_division=0) for k in columns])
        if case["width"] == 1 or len(truth) == 1
        else sk.f1_score(truth, predicted, average="macro", zero_division=0),
        "log_loss": loss,
        "loss": loss,
        "roc_auc": np.mean([auc_of(truth[:, k], logits[:, k]) for k in columns]),
        "average_precision": np.mean([defined(sk.average_precision_score, truth[:, k], logits[:, k]) for k in columns]),
    }


def auc_of(truth, score):
    return math.nan if truth.min() == truth.max() else defined(sk.roc_auc_score, truth, score)


worst = {}
compared = 0


def compare(case, name, theirs):
    global compared
    ours, theirs = float(case["metrics"][name]), float(theirs)
    compared += 1
    family = name.rstrip("0123456789") if name != "f1" and name != "r2" else name
    if ours == theirs or (math.isnan(ours) and math.isnan(theirs)):  # a perplexity may be infinite
        worst.setdefault(family, 0.0)
        return
    difference = abs(ours - theirs) / max(1.0, abs(theirs))
    assert difference <= BAR, "case %d: %s is %r, scikit-learn's is %r" % (case["case"], name, ours, theirs)
    worst[family] = max(worst.get(family, 0.0), difference)


def main():
    warnings.simplefilter("ignore", UndefinedMetricWarning)
    warnings.simplefilter("ignore", UserWarning)  # classes that are predicted and have no rows, and the like
    cases = 0
    with open(sys.argv[1]) as file:
        for line in file:
            case = json.loads(line)
            if case["multilabel"]:
                theirs = of_labels(case)
            else:
                theirs = of_classes(case) if case["classes"] else of_numbers(case)
            missing = set(case["metrics"]) - set(theirs) - {"loss"}
            assert not missing, "no value for %s" % missing
            for name, value in theirs.items():
                compare(case, name, value)
            cases += 1
    assert cases >= 1000, cases
    import sklearn

    print("scikit-learn %s: %d cases, %d values" % (sklearn.__version__, cases, compared))
    for name, difference in sorted(worst.items()):
        print("  %-18s largest difference %.1e" % (name, difference))


main()
