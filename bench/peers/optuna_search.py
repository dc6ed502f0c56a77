"""One search by Optuna whose budget is epochs: what the peers `functions.py` and `tabular.py` share."""
import math
import time
import warnings

import optuna


def quiet():
    """Optuna's version; it says nothing but errors from here on."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    return optuna.__version__


def search(draw, epochs, marks, arm, seed):
    """Regrets after so many epochs as `marks` name, of the best trial by what was seen of it, and seconds.

    `draw(trial)` gives a pair: the loss that is seen after an epoch (from 1), and the regret of the configuration trained to
    the end. A trial that saw more epochs counts for better. Arms: optuna-random, optuna-tpe (its defaults), optuna-tpe-group
    (multivariate, group); with +hyperband trials are stopped.
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
        seen, regret = draw(trial)
        state = optuna.trial.TrialState.COMPLETE
        for epoch in range(1, epochs + 1):
            loss = seen(epoch)
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
