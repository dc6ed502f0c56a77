"""The cases in PyTorch: one model at a time, torch.func's vmap, and HFTA (grouped convolutions, batched products).

All use float32 without TF32, and momentum SGD in the foreach form. No step waits for the device.
"""
import time

import torch
from torch.nn import functional as F

EPS, NORM_MOMENTUM = 1e-5, 0.1


def settle(device):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    choose_cudnn("")
    torch.set_float32_matmul_precision("highest")
    if device == "cpu":
        torch.set_num_threads(1)


def choose_cudnn(setting):
    """Sets how cuDNN finds its kernels: it times them, unless the setting has "heuristics" or "deterministic"."""
    torch.backends.cudnn.benchmark = "heuristics" not in setting and "deterministic" not in setting
    torch.backends.cudnn.deterministic = "deterministic" in setting


def attend(query, key, value, fused):
    """Attention of [..., heads, positions, width]. `fused` uses the attention kernel of PyTorch."""
    if fused:
        return F.scaled_dot_product_attention(query, key, value)
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-1, -2)
    return scores.softmax(-1) @ value


class TorchOps:
    """Operators of one model, or of all lanes under vmap."""

    def __init__(self, weights, buffers, sdpa):
        self.weights, self.buffers, self.sdpa = iter(weights), iter(buffers), sdpa

    relu, relu6 = staticmethod(F.relu), staticmethod(F.relu6)

    def linear(self, x):
        return F.linear(x, next(self.weights), next(self.weights))

    def conv(self, x):
        weight = next(self.weights)
        return F.conv2d(x, weight, next(self.weights), padding=1)

    def conv_norm(self, x, stride=1, depthwise=False):
        weight = next(self.weights)
        x = F.conv2d(x, weight, None, stride, weight.shape[-1] // 2, 1, x.shape[1] if depthwise else 1)
        scale, shift = next(self.weights), next(self.weights)
        return F.batch_norm(x, next(self.buffers), next(self.buffers), scale, shift, True, NORM_MOMENTUM, EPS)

    def max_pool(self, x):
        return F.max_pool2d(x, 2)

    def avg_pool(self, x):
        return F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)

    def flatten(self, x):
        return x.flatten(1)

    def spatial_mean(self, x):
        return x.mean((2, 3))

    def gelu(self, x):
        return F.gelu(x, approximate="tanh")

    def layer_norm(self, x):
        weight = next(self.weights)
        return F.layer_norm(x, x.shape[-1:], weight, next(self.weights), EPS)

    def embedding(self, tokens):
        return F.embedding(tokens, next(self.weights))

    def positions(self, x):
        return x + next(self.weights)

    def attention(self, x, heads):
        n, t, d = x.shape
        parts = self.linear(x).reshape(n, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
        seen = attend(parts[0], parts[1], parts[2], self.sdpa)
        return self.linear(seen.transpose(1, 2).reshape(n, t, d))

    def time_mean(self, x):
        return x.mean(1)


class LaneOps:
    """Operators of all lanes at once, as in HFTA. Images are [N, L*C, H, W], values [L, N, ...], weights [L, ...].

    The shared batch has no lane axis up to the first layer, so one product or convolution gives the outputs of all
    lanes."""

    def __init__(self, weights, buffers, sdpa, lanes):
        self.weights, self.buffers, self.sdpa, self.lanes = iter(weights), iter(buffers), sdpa, lanes
        self.shared = True

    relu, relu6 = staticmethod(F.relu), staticmethod(F.relu6)

    def linear(self, x):
        weight, bias = next(self.weights), next(self.weights)
        lanes, out, inner = weight.shape
        if self.shared:
            self.shared = False
            y = F.linear(x, weight.reshape(lanes * out, inner), bias.reshape(-1))
            return y.reshape(x.shape[0], lanes, out).transpose(0, 1)
        rows = x.reshape(lanes, -1, inner)
        return torch.baddbmm(bias.unsqueeze(1), rows, weight.transpose(1, 2)).reshape(*x.shape[:-1], out)

    def _conv(self, x, weight, bias, stride, depthwise=False):
        lanes, out, inner, kernel, _ = weight.shape
        groups = 1 if self.shared else lanes * (out if depthwise else 1)
        self.shared = False
        return F.conv2d(x, weight.reshape(lanes * out, inner, kernel, kernel), bias, stride, kernel // 2, 1, groups)

    def conv(self, x):
        weight, bias = next(self.weights), next(self.weights)
        return self._conv(x, weight, bias.reshape(-1), 1)

    def conv_norm(self, x, stride=1, depthwise=False):
        x = self._conv(x, next(self.weights), None, stride, depthwise)
        scale, shift = next(self.weights), next(self.weights)
        mean, variance = next(self.buffers), next(self.buffers)
        return F.batch_norm(x, mean.view(-1), variance.view(-1), scale.reshape(-1), shift.reshape(-1), True,
                            NORM_MOMENTUM, EPS)

    max_pool, avg_pool, gelu = TorchOps.max_pool, TorchOps.avg_pool, TorchOps.gelu

    def _rows(self, x):
        return x.reshape(x.shape[0], self.lanes, -1).transpose(0, 1)

    def flatten(self, x):
        return self._rows(x)

    def spatial_mean(self, x):
        return self._rows(x.mean((2, 3)))

    def layer_norm(self, x):
        weight, bias = next(self.weights), next(self.weights)
        shape = (self.lanes, 1, 1, -1)
        return F.layer_norm(x, x.shape[-1:], None, None, EPS) * weight.view(shape) + bias.view(shape)

    def embedding(self, tokens):
        table = next(self.weights)
        self.shared = False
        # Its gradient is an index_add, which can be captured at any size.
        return table.index_select(1, tokens.flatten()).view(self.lanes, *tokens.shape, -1)

    def positions(self, x):
        return x + next(self.weights).unsqueeze(1)

    def attention(self, x, heads):
        lanes, n, t, d = x.shape
        parts = self.linear(x).reshape(lanes * n, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
        seen = attend(parts[0], parts[1], parts[2], self.sdpa)
        return self.linear(seen.transpose(1, 2).reshape(lanes, n, t, d))

    def time_mean(self, x):
        return x.mean(2)


class Trainer:
    """The weights on a device, their start values, and the update in place."""

    def __init__(self, case, device, trained, buffers, rates, memory_format=torch.contiguous_format):
        def laid(array):
            tensor = torch.from_numpy(array.copy()).to(device)
            return tensor.contiguous(memory_format=memory_format) if tensor.dim() == 4 else tensor
        self.case, self.device = case, device
        self.start = [laid(each) for each in trained + buffers]
        self.trained = [each.clone().requires_grad_() for each in self.start[:len(trained)]]
        self.buffers = [each.clone() for each in self.start[len(trained):]]
        self.momenta = [torch.zeros_like(each) for each in self.trained]
        self.rates = rates
        self.x = torch.from_numpy(case.features.copy()).to(device)
        if self.x.dim() == 4:
            self.x = self.x.contiguous(memory_format=memory_format)
        self.labels = torch.from_numpy(case.labels.copy()).to(device)

    def reset(self):
        with torch.no_grad():
            for to, of in zip(self.trained + self.buffers, self.start):
                to.copy_(of)
            for each in self.momenta:
                each.zero_()

    @torch.no_grad()
    def update(self, gradients):
        torch._foreach_mul_(self.momenta, self.case.momentum)
        torch._foreach_add_(self.momenta, gradients)
        if isinstance(self.rates, float):
            torch._foreach_add_(self.trained, self.momenta, alpha=-self.rates)
        else:
            torch._foreach_addcmul_(self.trained, self.momenta, self.rates, value=-1)


class Single(Trainer):
    """One model. The words of a setting are "channels_last", "sdpa" (the attention kernel of PyTorch) and "fused" (the
    fused kernel of torch.optim.SGD instead of foreach calls)."""

    def __init__(self, case, device, model, setting):
        layout = torch.channels_last if "channels_last" in setting else torch.contiguous_format
        self.sdpa = "sdpa" in setting
        super().__init__(case, device, [each[model] for each in case.trained], [each[model] for each in case.buffers],
                         float(case.rates[model]), layout)
        self.loss = torch.zeros((), device=device)
        self.optimizer = None
        if "fused" in setting:
            self.optimizer = torch.optim.SGD(self.trained, lr=self.rates, momentum=case.momentum, fused=True)

    def reset(self):
        super().reset()
        if self.optimizer is not None:
            for state in self.optimizer.state.values():
                if state.get("momentum_buffer") is not None:
                    state["momentum_buffer"].zero_()

    def step(self):
        loss = F.cross_entropy(self.case.model(TorchOps(self.trained, self.buffers, self.sdpa), self.x),
                               self.labels)
        if self.optimizer is None:
            self.update(torch.autograd.grad(loss, self.trained))
        else:
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
        self.loss.copy_(loss.detach())

    def losses(self):
        return self.loss.reshape(1)


class Together(Trainer):
    """All lanes of a case. Subclasses define `gradients`. The words of a setting are those of Single."""

    def __init__(self, case, device, setting):
        rates = torch.from_numpy(case.rates.copy()).to(device)
        super().__init__(case, device, case.trained, case.buffers, None)
        self.rates = [rates.view(-1, *[1] * (each.dim() - 1)).expand_as(each).contiguous() for each in self.trained]
        self.loss = torch.zeros(case.lanes, device=device)
        self.sdpa = "sdpa" in setting

    def step(self):
        gradients, losses = self.gradients()
        self.update(gradients)
        self.loss.copy_(losses)

    def losses(self):
        return self.loss


class Hfta(Together):
    def __init__(self, case, device, setting):
        super().__init__(case, device, setting)
        self.all_labels = self.labels.repeat(case.lanes)

    def gradients(self):
        lanes = self.case.lanes
        logits = self.case.model(LaneOps(self.trained, self.buffers, self.sdpa, lanes), self.x)
        losses = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), self.all_labels, reduction="none")
        losses = losses.view(lanes, -1).mean(1)
        return torch.autograd.grad(losses.sum(), self.trained), losses.detach()


class Vmap(Together):
    """torch.func, with `compiled` by torch.compile. "sdpa" is ignored: some attention kernels have no vmap."""

    def __init__(self, case, device, setting, compiled=False):
        super().__init__(case, device, setting)
        for each in self.trained:
            each.requires_grad_(False)

        def loss(trained, buffers):
            logits = case.model(TorchOps(trained, buffers, False), self.x)
            value = F.cross_entropy(logits, self.labels)
            return value, value
        self.form = torch.func.vmap(torch.func.grad(loss, has_aux=True))
        if compiled:
            self.form = torch.compile(self.form, dynamic=False)

    def gradients(self):
        return self.form(tuple(self.trained), tuple(self.buffers))


class Captured:
    """A step as a CUDA graph; on the CPU the step itself. The weights are reset afterwards."""

    def __init__(self, trainer, stream=None, pool=None, steps=1):
        self.trainer, self.stream, self.graph, self.steps = trainer, stream, None, steps
        if trainer.device == "cpu":
            return
        self.stream = stream or torch.cuda.Stream()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                trainer.step()
        self.stream.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool, stream=self.stream):
            for _ in range(steps):
                trainer.step()
        with torch.cuda.stream(self.stream):
            trainer.reset()
        self.stream.synchronize()

    def step(self):
        if self.graph is None:
            for _ in range(self.steps):
                self.trainer.step()
        else:
            with torch.cuda.stream(self.stream):
                self.graph.replay()


def sync(device):
    if device != "cpu":
        torch.cuda.synchronize()


def first_losses(trainers, step, steps, device):
    """The losses, [steps, models]. `step(i)` runs a step of trainer i."""
    out = []
    for _ in range(steps):
        for i in range(len(trainers)):
            step(i)
        sync(device)
        out.append([loss for each in trainers for loss in each.losses().tolist()])
    return out


def seconds_of(call, device, at_least):
    """The seconds of a call, over calls of at least this many seconds together, after a warm-up."""
    call()
    sync(device)
    begin, count = time.perf_counter(), 1
    call()
    sync(device)
    one = max(time.perf_counter() - begin, 1e-7)
    if one >= at_least:
        return one
    count = int(at_least / one) + 1
    begin = time.perf_counter()
    for _ in range(count):
        call()
    sync(device)
    return (time.perf_counter() - begin) / count
