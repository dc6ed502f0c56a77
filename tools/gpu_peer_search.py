"""A whole search in PyTorch on a device, one trial after the other.

The trials are the built-in small-cnn on scikit-learn's digits, with random learning rates and momenta. A trial has 20
epochs of shuffled batches of 32, with the validation accuracy after each. The data and the permutations are on the
device, and the host waits once a trial.
"""
import math
import time

import torch
from torch import nn
from torch.nn import functional as F

EPOCHS, BATCH, SEED, LONGEST = 20, 32, 1, 40.0


def data_of(device):
    from sklearn.datasets import load_digits
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(SEED))
    x = torch.from_numpy(digits.images).float().unsqueeze(1)[order]
    y = torch.from_numpy(digits.target).long()[order]
    x = (x - x[:1257].mean()) / x[:1257].std(unbiased=False)
    parts = (slice(0, 1257), slice(1257, 1527))  # as lanista's own: 1,257 rows to train, 270 to measure
    return [(x[part].to(device), y[part].to(device)) for part in parts]


def model_of(device):
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(128, 10)).to(device)


def random_settings(trials):
    generator = torch.Generator().manual_seed(SEED)
    return [(1e-2 * 50 ** torch.rand((), generator=generator).item(), 0.95 * torch.rand((), generator=generator).item())
            for _ in range(trials)]


class Eager:
    def __init__(self, device, setting):
        self.layout = torch.channels_last if "channels_last" in setting else torch.contiguous_format
        self.fused, self.device = "fused" in setting, device

    def begin(self, rate, momentum):
        self.model = model_of(self.device).to(memory_format=self.layout)
        kind = {"fused": True} if self.fused else {"foreach": True}
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate, momentum=momentum, **kind)

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(self.model(x), y).backward()
        self.optimizer.step()


class Graph(Eager):
    """One captured step for all trials. Rate and momentum are tensors, and the weights of a trial are set in place.

    The step of the short last batch is captured too."""

    def __init__(self, device, setting):
        super().__init__(device, setting)
        self.rate, self.momentum = torch.zeros((), device=device), torch.zeros((), device=device)
        self.model = model_of(device).to(memory_format=self.layout)
        self.weights = list(self.model.parameters())
        self.momenta = [torch.zeros_like(each) for each in self.weights]
        self.steps = {}

    def update(self, x, y):
        gradients = torch.autograd.grad(F.cross_entropy(self.model(x), y), self.weights)
        with torch.no_grad():
            torch._foreach_mul_(self.momenta, self.momentum)
            torch._foreach_add_(self.momenta, gradients)
            torch._foreach_sub_(self.weights, torch._foreach_mul(self.momenta, self.rate))

    def begin(self, rate, momentum):
        fresh = model_of(self.device)
        with torch.no_grad():
            for to, of in zip(self.weights, fresh.parameters()):
                to.copy_(of)
            for each in self.momenta:
                each.zero_()
        self.rate.fill_(rate)
        self.momentum.fill_(momentum)

    def capture(self, x, y):
        x, y = x.clone(), y.clone()
        kept = [each.detach().clone() for each in self.weights + self.momenta]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.update(x, y)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            self.update(x, y)
        with torch.no_grad():
            for to, of in zip(self.weights + self.momenta, kept):
                to.copy_(of)
        return x, y, graph

    def step(self, x, y):
        if self.device == "cpu":
            return self.update(x, y)
        if len(x) not in self.steps:
            self.steps[len(x)] = self.capture(x, y)
        to_x, to_y, graph = self.steps[len(x)]
        to_x.copy_(x)
        to_y.copy_(y)
        graph.replay()


def trial(trainer, data, rate, momentum, device, epochs):
    (x, y), (val_x, val_y) = data
    torch.manual_seed(SEED)
    trainer.begin(rate, momentum)
    curve = []
    for _ in range(epochs):
        order = torch.randperm(len(x), device=device)
        for batch_x, batch_y in zip(x[order].split(BATCH), y[order].split(BATCH)):
            trainer.step(batch_x, batch_y)
        with torch.no_grad():
            curve.append((trainer.model(val_x).argmax(1) == val_y).float().mean())
    return torch.stack(curve).tolist()


def search(device, captured, trials):
    """A row with the seconds of all trials. If they would need more than 40 s, eight trials run, with a note."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    if device == "cpu":
        torch.set_num_threads(1)
    plain = data_of(device)
    best = None
    for setting in ("nchw foreach", "nchw fused", "channels_last foreach", "channels_last fused"):
        if captured and "fused" in setting:
            continue
        layout = torch.channels_last if "channels_last" in setting else torch.contiguous_format
        data = [(x.contiguous(memory_format=layout), y) for x, y in plain]
        trainer = (Graph if captured else Eager)(device, setting)
        trial(trainer, data, 0.05, 0.5, device, 1)
        begin = time.perf_counter()
        trial(trainer, data, 0.05, 0.5, device, 1)
        seconds = time.perf_counter() - begin
        if best is None or seconds < best[0]:
            best = seconds, setting, trainer, data
    one, setting, trainer, data = best
    timed = trials if one * EPOCHS * trials <= LONGEST else min(8, trials)
    begin = time.perf_counter()
    last = [trial(trainer, data, rate, momentum, device, EPOCHS)[-1] for rate, momentum in random_settings(timed)]
    seconds = time.perf_counter() - begin
    row = {"value": round(seconds * trials / timed, 3), "unit": "s", "repeats": 1, "spread": 0, "setting": setting,
           "timed_trials": timed, "best": max(last), "median": sorted(last)[len(last) // 2]}
    if not math.isfinite(max(last)) or max(last) < 0.9:
        raise RuntimeError(f"the search learned nothing: best accuracy {max(last)}")
    return row
