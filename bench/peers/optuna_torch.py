#!/usr/bin/env python3
"""The searches of search-mlp.yaml and search-cnn.yaml with Optuna and PyTorch, from the program start to the winner.

search.py compares it with `lanista run`. README.md lists the settings that make it fast.

Prints one JSON object: the last validation accuracy of each trial, the test accuracy of the winner, and the versions.
"""
import argparse
import json
import math
import multiprocessing
import os

# NumPy and torch read these variables when they are loaded.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy
import optuna
import torch
from torch import nn
from torch.nn import functional

EPOCHS, BATCH, SEED = 10, 32, 1


def model_of(name):
    if name == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(128, 10))


def load(folder):
    """The parts as tensors, normalised by mean and deviation of the training rows, as with `normalize: auto`."""
    parts = {}
    for part in ("train", "validation", "test"):
        x = torch.from_numpy(numpy.load(f"{folder}/{part}/x.npy")).float().reshape(-1, 1, 8, 8)
        parts[part] = x, torch.from_numpy(numpy.load(f"{folder}/{part}/y.npy")).long()
    mean, deviation = parts["train"][0].mean(), parts["train"][0].std(unbiased=False)
    return {part: ((x - mean) / deviation, y) for part, (x, y) in parts.items()}


def accuracy(model, rows):
    x, y = rows
    with torch.inference_mode():
        return (model(x).argmax(1) == y).float().mean().item()


def optimizer_of(options, model, sample):
    settings = dict(lr=sample["lr"], momentum=sample["momentum"], weight_decay=sample["weight_decay"])
    return torch.optim.SGD(model.parameters(), foreach=options.update == "foreach", **settings)


def train(options, data, number, sample):
    """Trains a trial. Returns the validation accuracy after each epoch and the model."""
    torch.manual_seed(SEED * 1000 + number)
    model = model_of(options.model)
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = optimizer_of(options, model, sample)
    forward = torch.jit.trace(model, data["train"][0][:BATCH]) if options.jit else model
    x, y = data["train"]
    steps = (len(x) + BATCH - 1) // BATCH
    step, curve = 0, []
    for _ in range(EPOCHS):
        order = torch.randperm(len(x))
        for batch_x, batch_y in zip(x[order].split(BATCH), y[order].split(BATCH)):
            optimizer.param_groups[0]["lr"] = sample["lr"] * 0.5 * (1 + math.cos(math.pi * step / (EPOCHS * steps)))
            optimizer.zero_grad(set_to_none=True)
            functional.cross_entropy(forward(batch_x), batch_y).backward()
            optimizer.step()
            step += 1
        curve.append(accuracy(model, data["validation"]))
    return curve, model


def sample_of(trial):
    return {"lr": trial.suggest_float("lr", 1e-2, 0.5, log=True),
            "momentum": trial.suggest_float("momentum", 0, 0.95),
            "weight_decay": trial.suggest_float("weight_decay", 1e-6, 1e-2, log=True)}


def prepare(options, data):
    torch.set_num_threads(options.threads)
    if options.channels_last:
        for part, (x, y) in data.items():
            data[part] = x.contiguous(memory_format=torch.channels_last), y


def weights_of(model):
    """The weights as arrays, because tensors would be sent between processes through files in shared memory."""
    return [parameter.detach().numpy() for parameter in model.parameters()]


def work(options, data, todo, results):
    """A worker process, which trains trials of the queue until it is empty."""
    prepare(options, data)
    while (item := todo.get()) is not None:
        number, sample = item
        curve, model = train(options, data, number, sample)
        results.put((number, curve, weights_of(model)))


def search(options, study, data):
    """Runs the study and returns the weights of the winner. Only this process uses Optuna, so it needs no storage."""
    best = (-1.0, None)

    def note(trial, curve, weights):
        nonlocal best
        for epoch, value in enumerate(curve):
            trial.report(value, epoch)
        best = max(best, (curve[-1], weights), key=lambda pair: pair[0])
        return curve[-1]

    if options.processes == 1:
        prepare(options, data)

        def objective(trial):
            curve, model = train(options, data, trial.number, sample_of(trial))
            return note(trial, curve, weights_of(model))

        study.optimize(objective, n_trials=options.trials, n_jobs=options.jobs)
        return best[1]

    fork = multiprocessing.get_context("fork")
    todo, results = fork.SimpleQueue(), fork.SimpleQueue()
    workers = [fork.Process(target=work, args=(options, data, todo, results)) for _ in range(options.processes)]
    for worker in workers:
        worker.start()
    trials = [study.ask() for _ in range(options.trials)]
    for trial in trials:
        todo.put((trial.number, sample_of(trial)))
    for _ in workers:
        todo.put(None)
    for _ in trials:
        number, curve, weights = results.get()
        study.tell(trials[number], note(trials[number], curve, weights))
    for worker in workers:
        worker.join()
    return best[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", choices=["mlp", "cnn"])
    parser.add_argument("data", help="folder of train/, validation/ and test/ with x.npy and y.npy")
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1, help="Optuna's n_jobs, the threads of one process")
    parser.add_argument("--threads", type=int, default=1, help="torch.set_num_threads of a process")
    parser.add_argument("--update", choices=["plain", "foreach"], default="plain")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--jit", action="store_true", help="torch.jit.trace the model")
    options = parser.parse_args()

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    data = load(options.data)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=SEED))
    weights = search(options, study, data)
    winner = model_of(options.model)
    with torch.no_grad():
        for parameter, trained in zip(winner.parameters(), weights):
            parameter.copy_(torch.from_numpy(trained))
    print(json.dumps({"val": [trial.value for trial in study.trials], "test": accuracy(winner, data["test"]),
                      "torch": torch.__version__, "optuna": optuna.__version__}))


main()
