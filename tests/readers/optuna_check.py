"""Reads exported journals with Optuna and compares them with facts.json: optuna_check.py FOLDER (by export_corpus)."""
import json
import math
import pathlib
import sys
import warnings

try:
    import optuna
    from optuna import storages
    from optuna.trial import TrialState
except ImportError as error:
    print("skipped: optuna is not installed:", error)
    sys.exit(77)


def load(path):
    try:
        from optuna.storages.journal import JournalFileBackend as Backend
    except ImportError:  # before Optuna 4
        Backend = storages.JournalFileStorage
    storage = storages.JournalStorage(Backend(str(path)))
    (summary,) = optuna.get_all_study_summaries(storage)
    return optuna.load_study(study_name=summary.study_name, storage=storage)


def kept(facts, trial):
    """Returns the epoch of a trial's result: the best by the goals in order, the earlier of equal ones, NaN last."""
    goals = [(metric, up) for metric, up in facts["goals"] if metric.startswith(("val_", "train_"))]

    def losses(point):
        for metric, up in goals:
            value = float(point["metrics"].get(metric, "nan"))
            yield (1, 0.0) if math.isnan(value) else (0, -value if up else value)

    best = None
    for point in trial["curve"]:
        now = list(losses(point))
        lost = not goals or (best is not None and best[0][0][0] and now[0][0])
        if best is None or lost or now < best[0]:
            best = (now, point)
    return best[1]["metrics"] if best else {}


def values(facts, trial):
    """Returns the values of the goals, or None if one is missing or not finite."""
    metrics = kept(facts, trial)
    out = [float(metrics.get(metric, "nan")) for metric, _ in facts["goals"]]
    return out if all(math.isfinite(value) for value in out) else None


def expected_state(facts, trial):
    if trial["state"] == "running":
        return TrialState.RUNNING
    if trial["state"] == "stopped":
        return TrialState.PRUNED
    return TrialState.COMPLETE if trial["state"] == "succeeded" and values(facts, trial) else TrialState.FAIL


def check_trial(facts, want, got):
    source = want
    if want["state"] == "duplicate":
        source = facts["trials"][want["same_as"] - 1]
    state = expected_state(facts, source)
    if want["state"] == "duplicate" and state == TrialState.RUNNING or source["state"] == "duplicate":
        state = TrialState.FAIL
    assert got.state == state, (want["id"], got.state, state)
    assert got.params == want["sample"], (want["id"], got.params, want["sample"])
    for name, distribution in got.distributions.items():
        assert distribution._contains(distribution.to_internal_repr(got.params[name])), (want["id"], name)
    if state in (TrialState.COMPLETE, TrialState.PRUNED):
        assert got.values == values(facts, source), (want["id"], got.values)
    metric = facts["goals"][0][0]
    curve = {point["epoch"]: point["metrics"][metric] for point in source["curve"] if metric in point["metrics"]}
    assert got.intermediate_values == {epoch: value for epoch, value in curve.items() if math.isfinite(float(value))}
    for name in ("graph_hash", "base", "state"):
        assert got.user_attrs[name] == want[name]
    assert got.user_attrs.get("parent") == want["parent"]
    assert got.datetime_start is not None and (got.datetime_complete is not None) == state.is_finished()


def check(path):
    facts = json.loads((path / "facts.json").read_text())
    study = load(path / "optuna.journal")
    assert study.study_name == facts["name"]
    assert [direction.name == "MAXIMIZE" for direction in study.directions] == [up for _, up in facts["goals"]]
    trials = study.trials  # a deep copy at every access
    assert len(trials) == len(facts["trials"])
    for want, got in zip(facts["trials"], trials):
        assert got.number == want["id"] - 1
        check_trial(facts, want, got)

    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    best = "none"
    if complete and len(facts["goals"]) == 1:
        pick = max if facts["goals"][0][1] else min
        best = study.best_value
        assert best == pick(trial.value for trial in complete)
    elif complete:
        best = "%d on the front" % len(study.best_trials)
        assert study.best_trials
    # Optuna refuses different distributions with one name.
    first = {}
    for trial in trials:
        for name, distribution in trial.distributions.items():
            optuna.distributions.check_distribution_compatibility(first.setdefault(name, distribution), distribution)
    counts = {state.name.lower(): sum(trial.state == state for trial in trials) for state in TrialState}
    print("optuna %s: %s: %s, best %s" % (optuna.__version__, path.name, counts, best))


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("error", UserWarning)  # "the distribution is specified by … and the range is not divisible"
    for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        check(path)


main()
