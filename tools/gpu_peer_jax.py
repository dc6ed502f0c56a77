"""The cases in JAX, with jit, vmap over lanes, and a scan over steps. Products are float32 in full precision."""
import time

import jax
import jax.numpy as jnp
import numpy
from jax import lax

EPS, NORM_MOMENTUM = 1e-5, 0.1


class JaxOps:
    def __init__(self, weights, buffers):
        self.weights, self.buffers, self.new_buffers = iter(weights), iter(buffers), []

    def relu(self, x):
        return jax.nn.relu(x)

    def relu6(self, x):
        return jax.nn.relu6(x)

    def linear(self, x):
        weight = next(self.weights)
        return x @ weight.T + next(self.weights)

    def _conv(self, x, weight, stride, groups):
        side = weight.shape[-1] // 2
        return lax.conv_general_dilated(x, weight, (stride, stride), [(side, side)] * 2, feature_group_count=groups,
                                        dimension_numbers=("NCHW", "OIHW", "NCHW"))

    def conv(self, x):
        weight = next(self.weights)
        return self._conv(x, weight, 1, 1) + next(self.weights)[:, None, None]

    def conv_norm(self, x, stride=1, depthwise=False):
        x = self._conv(x, next(self.weights), stride, x.shape[1] if depthwise else 1)
        scale, shift = next(self.weights), next(self.weights)
        count = x.size // x.shape[1]
        mean = x.mean((0, 2, 3))
        variance = jnp.square(x - mean[:, None, None]).mean((0, 2, 3))
        for old, new in ((next(self.buffers), mean), (next(self.buffers), variance * (count / (count - 1)))):
            self.new_buffers.append((1 - NORM_MOMENTUM) * old + NORM_MOMENTUM * lax.stop_gradient(new))
        factor = scale * lax.rsqrt(variance + EPS)
        return (x - mean[:, None, None]) * factor[:, None, None] + shift[:, None, None]

    def max_pool(self, x):
        n, c, h, w = x.shape  # of a window that does not overlap: quicker than reduce_window with its scatter
        return x.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))

    def avg_pool(self, x):
        def windows(of):
            return lax.reduce_window(of, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 1, 1), [(0, 0), (0, 0), (1, 1), (1, 1)])
        return windows(x) / windows(jnp.ones((1, 1) + x.shape[2:], x.dtype))

    def flatten(self, x):
        return x.reshape(x.shape[0], -1)

    def spatial_mean(self, x):
        return x.mean((2, 3))

    def gelu(self, x):
        return jax.nn.gelu(x, approximate=True)

    def layer_norm(self, x):
        centred = x - x.mean(-1, keepdims=True)
        variance = jnp.square(centred).mean(-1, keepdims=True)
        weight = next(self.weights)
        return centred * lax.rsqrt(variance + EPS) * weight + next(self.weights)

    def embedding(self, tokens):
        return next(self.weights)[tokens]

    def positions(self, x):
        return x + next(self.weights)

    def attention(self, x, heads):
        n, t, d = x.shape
        q, k, v = self.linear(x).reshape(n, t, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)
        weights = jax.nn.softmax((q * (d // heads) ** -0.5) @ k.swapaxes(-1, -2), -1)
        return self.linear((weights @ v).transpose(0, 2, 1, 3).reshape(n, t, d))

    def time_mean(self, x):
        return x.mean(1)


def chunk(case, x, labels, steps):
    """A function that runs a chunk of steps. It gets (weights, buffers, momenta), lists of [lanes, ...], and rates."""
    def loss_of(weights, buffers):
        ops = JaxOps(weights, buffers)
        logits = case.model(ops, x)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
        return -chosen.mean(), ops.new_buffers

    def step(state, rate):
        weights, buffers, momenta = state
        (loss, buffers), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, buffers)
        momenta = [case.momentum * m + g for m, g in zip(momenta, gradients)]
        weights = [w - rate * m for w, m in zip(weights, momenta)]
        return (weights, buffers, momenta), loss

    def run(state, rates):
        return lax.scan(lambda carry, _: jax.vmap(step)(carry, rates), state, None, length=steps)
    return run


class Compiled:
    def __init__(self, case, steps):
        jax.config.update("jax_default_matmul_precision", "highest")
        self.case, self.steps = case, steps
        x, labels = jnp.asarray(case.features), jnp.asarray(case.labels)
        if case.features.dtype == numpy.int64:
            x = x.astype(jnp.int32)
        self.rates = jnp.asarray(case.rates)

        begin = time.perf_counter()
        run = jax.jit(chunk(case, x, labels, steps), donate_argnums=0)
        self.run = run.lower(self.start(), self.rates).compile()
        self.seconds = time.perf_counter() - begin

    def start(self):
        weights = [jnp.asarray(each) for each in self.case.trained]
        return weights, [jnp.asarray(each) for each in self.case.buffers], [jnp.zeros_like(each) for each in weights]

    def losses(self):
        """The losses of the first chunk, [steps, lanes]."""
        return numpy.asarray(self.run(self.start(), self.rates)[1])

    def chunk_seconds(self, repeats):
        state = self.start()
        out = []
        for i in range(repeats + 1):
            begin = time.perf_counter()
            state, losses = self.run(state, self.rates)
            losses.block_until_ready()
            jax.block_until_ready(state)
            if i > 0:
                out.append(time.perf_counter() - begin)
        return out


class InTurn:
    """Different models, each compiled alone. Their chunks are dispatched one after the other."""

    def __init__(self, models):
        self.models, self.seconds = models, sum(each.seconds for each in models)

    def losses(self):
        return numpy.concatenate([each.losses() for each in self.models], axis=1)

    def chunk_seconds(self, repeats):
        states = [each.start() for each in self.models]
        out = []
        for i in range(repeats + 1):
            begin = time.perf_counter()
            ends = [each.run(state, each.rates) for each, state in zip(self.models, states)]
            jax.block_until_ready(ends)
            states = [state for state, _ in ends]
            if i > 0:
                out.append(time.perf_counter() - begin)
        return out
