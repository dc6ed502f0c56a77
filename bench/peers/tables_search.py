#!/usr/bin/env python3
"""One search of tables.py: Optuna's TPE over scikit-learn's MLP or gradient boosting, or FLAML.

usage: tables_search.py mlp|hgb|flaml FOLDER TARGET IS_CLASSES SECONDS

Reads train.csv and test-features.csv in FOLDER and writes predicted.csv with the column "prediction". Prints its result
as JSON. The seconds count from the start of this program.
"""
import time
BEGAN = time.time()
import json
import sys
import warnings

import numpy
import pandas
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler


def encoded(trees):
    """The preparation of a table: standardised numbers and one-hot words, or for trees words as codes of categories."""
    numbers = make_column_selector(dtype_include="number")
    words = make_column_selector(dtype_exclude="number")
    if trees:
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=numpy.nan, max_categories=200)
        return make_column_transformer((codes, words), ("passthrough", numbers))
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", min_frequency=2, sparse_output=False), words))


def mlp(trial, classes, seed):
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    width = trial.suggest_int("width", 16, 256, log=True)
    shape = (width,) * trial.suggest_int("depth", 1, 3)
    options = {"hidden_layer_sizes": shape, "learning_rate_init": trial.suggest_float("lr", 1e-4, 3e-2, log=True),
               "alpha": trial.suggest_float("alpha", 1e-6, 1e-1, log=True),
               "batch_size": trial.suggest_categorical("batch", [32, 64, 128]),
               "activation": trial.suggest_categorical("activation", ["relu", "tanh"]),
               "max_iter": trial.suggest_int("epochs", 10, 150, log=True), "random_state": seed}
    return MLPClassifier(**options) if classes else MLPRegressor(**options)


def hgb(trial, classes, seed, words):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    options = {"learning_rate": trial.suggest_float("lr", 0.01, 0.5, log=True),
               "max_iter": trial.suggest_int("trees", 20, 500, log=True),
               "max_leaf_nodes": trial.suggest_int("leaves", 4, 64, log=True),
               "min_samples_leaf": trial.suggest_int("leaf", 2, 50, log=True),
               "l2_regularization": trial.suggest_float("l2", 1e-6, 10, log=True),
               "max_features": trial.suggest_float("features", 0.3, 1), "random_state": seed, "early_stopping": False,
               "categorical_features": list(range(words))}
    return HistGradientBoostingClassifier(**options) if classes else HistGradientBoostingRegressor(**options)


def by_optuna(arm, train, target, classes, seconds):
    import optuna
    from sklearn.base import TransformerMixin
    from sklearn.compose import TransformedTargetRegressor
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    x, y = train.drop(columns=target), train[target].astype(str) if classes else train[target]
    words = len(make_column_selector(dtype_exclude="number")(x))
    inner, held, inner_y, held_y = train_test_split(x, y, test_size=0.2, random_state=0,
                                                    stratify=y if classes else None)

    def model(trial):
        learner = mlp(trial, classes, 0) if arm == "mlp" else hgb(trial, classes, 0, words)
        if arm == "mlp" and not classes:
            learner = TransformedTargetRegressor(learner, transformer=StandardScaler())
        return make_pipeline(encoded(arm == "hgb"), learner)

    longest = [0.0]

    def objective(trial):
        began = time.time()
        value = model(trial).fit(inner, inner_y).score(held, held_y)
        longest[0] = max(longest[0], time.time() - began)
        # The best model is fitted again on more rows at the end, so its time is reserved.
        trial.set_user_attr("seconds", time.time() - began)
        best = trial.study.best_trial.user_attrs["seconds"] if trial.number else time.time() - began
        if time.time() - BEGAN + 1.4 * best > seconds - 0.5:
            trial.study.stop()
        return value

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0, multivariate=True))
    study.optimize(objective, timeout=max(1.0, seconds - (time.time() - BEGAN) - 1))
    best = model(optuna.trial.FixedTrial(study.best_params)).fit(x, y)
    return best, {"trials": len(study.trials), "validation": study.best_value, "params": study.best_params}


def by_flaml(train, target, classes, seconds):
    from flaml import AutoML
    automl = AutoML()
    x, y = train.drop(columns=target), train[target].astype(str) if classes else train[target]
    automl.fit(x, y, task="classification" if classes else "regression", metric="accuracy" if classes else "r2",
               time_budget=seconds - (time.time() - BEGAN) - 1, n_jobs=1, verbose=0, seed=1, log_file_name="",
               estimator_list=["lgbm", "xgboost", "rf", "extra_tree", "lrl1"] if classes else
               ["lgbm", "xgboost", "rf", "extra_tree"])
    return automl, {"trials": len(automl.config_history), "validation": 1 - automl.best_loss,
                    "params": {"learner": automl.best_estimator}}


def main():
    arm, folder, target, classes, seconds = sys.argv[1:]
    classes, seconds = classes == "1", float(seconds)
    warnings.filterwarnings("ignore")
    train = pandas.read_csv(folder + "/train.csv")
    test = pandas.read_csv(folder + "/test-features.csv")
    if arm == "flaml":
        best, facts = by_flaml(train, target, classes, seconds)
    else:
        best, facts = by_optuna(arm, train, target, classes, seconds)
    pandas.DataFrame({"prediction": best.predict(test)}).to_csv(folder + "/predicted.csv", index=False)
    print(json.dumps({**facts, "took_inside": round(time.time() - BEGAN, 1)}, default=str))


if __name__ == "__main__":
    main()
