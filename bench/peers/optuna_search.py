"""One search by Optuna with a budget in epochs, for `functions.py` and `tabular.py`."""
import math
import time
import warnings

import optuna


def quiet():
    """Limits the log of Optuna to errors and returns its version."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    return optuna.__version__


def search(suggest, epochs, marks, arm, seed):
    """The regrets of the best trial after each number of epochs in `marks`, and the seconds.

    `suggest(trial)` samples a configuration. It returns a function from an epoch (from 1) to the measured loss, and the
    regret of the complete training. The best trial is the one with the lowest loss at the highest epoch. The arms are
    optuna-random, optuna-tpe (the defaults) and optuna-tpe-group (multivariate, with groups). With +hyperband, trials
    are stopped.
    """
    if arm == "optuna-random":
        sampler = optuna.samplers.RandomSampler(seed=seed)
    elif "group" in arm:
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True)
    else:
        sampler = optuna.samplers.TPESampler(seed=seed)
    pruner = optuna.pruners.NopPruner()
    if arm.endswith("+hyperband"):
        pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=epochs, reduction_factor=3)
    study = optuna.create_study(sampler=sampler, pruner=pruner)
    spent, best, regrets = 0, (0, math.inf, math.inf), []
    begin = time.perf_counter()
    while spent < marks[-1]:
        trial = study.ask()
        loss_at, regret = suggest(trial)
        state = optuna.trial.TrialState.COMPLETE
        for epoch in range(1, epochs + 1):
            loss = loss_at(epoch)
            best = min(best, (-epoch, loss, regret))
            spent += 1
            if epochs > 1:
                trial.report(loss, epoch)
            if spent in marks:
                regrets.append(best[2])
            if epoch < epochs and trial.should_prune():
                state = optuna.trial.TrialState.PRUNED
                break
        study.tell(trial, loss if state == optuna.trial.TrialState.COMPLETE else None, state=state)
    return regrets, time.perf_counter() - begin
