"""Steps of the papers' workloads with Diffrax (JAX, jitted), those that it can express.

    pip install diffrax scipy
    python3 bench/peers/diffrax.py WORKLOAD [--threads N] [--device gpu]

A step is the loss and its gradient in one compiled function. The solver is torchdiffeq's `rk4`, the 3/8 rule, with steps of
one. Diffrax has no natural cubic splines: their coefficients come from SciPy here, and the spline workloads are left out.
"""
from on_demand import check_gpu, serve, sized, take_processors

take_processors()

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.interpolate import CubicSpline

check_gpu(jax.default_backend() != "cpu", "JAX")


class ThreeEighths(diffrax.AbstractERK):
    """Kutta's 3/8 rule."""

    tableau = diffrax.ButcherTableau(
        c=np.array([1 / 3, 2 / 3, 1]),
        a_lower=(np.array([1 / 3]), np.array([-1 / 3, 1]), np.array([1, -1, 1])),
        b_sol=np.array([1 / 8, 3 / 8, 3 / 8, 1 / 8]),
        b_error=np.zeros(4),
    )
    interpolation_cls = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms):
        return 4


def control(batch, length, channels):
    """Natural cubic splines through random walks: values (batch, channels)."""
    walks = np.random.default_rng(0).standard_normal((length, batch, channels - 1)).cumsum(0) / length**0.5
    times = np.broadcast_to(np.arange(length, dtype=float)[:, None, None], (length, batch, 1))
    spline = CubicSpline(np.arange(length), np.concatenate([times, walks], -1), bc_type="natural")
    coeffs = tuple(jnp.asarray(c, jnp.float32) for c in spline.c)  # (d, c, b, a), each (length - 1, batch, channels)
    return diffrax.CubicInterpolation(jnp.arange(length, dtype=jnp.float32), coeffs)


def solve(field, y0, args, path, adjoint):
    """The state at the end of dy/dt = field(x(t), x'(t), y, args)."""
    steps = len(path.ts) - 1

    def slope(t, y, args):
        return field(path.evaluate(t), path.derivative(t), y, args)

    return diffrax.diffeqsolve(
        diffrax.ODETerm(slope), ThreeEighths(), 0.0, float(steps), 1.0, y0, args, adjoint=adjoint(steps), max_steps=steps
    ).ys[0]


def direct(steps):
    """Every state is kept: the fastest gradient."""
    return diffrax.RecursiveCheckpointAdjoint(checkpoints=steps)


def continuous(_steps):
    return diffrax.BacksolveAdjoint()


def gradient_of(loss, parameters):
    gradient = eqx.filter_jit(eqx.filter_value_and_grad(loss))
    return lambda: jax.block_until_ready(gradient(parameters))


def batched(layer):
    return jax.vmap(layer)


def ncde(batch, length, channels, hidden, width, depth, adjoint):
    keys = jr.split(jr.key(0))
    mlp = eqx.nn.MLP(
        hidden, hidden * channels, width, depth, activation=jax.nn.relu, final_activation=jnp.tanh, key=keys[0]
    )
    path = control(batch, length, channels)
    z0 = jr.normal(keys[1], (batch, hidden))

    def field(_x, dx, z, mlp):
        matrix = batched(mlp)(z).reshape(batch, hidden, channels)
        return jnp.einsum("bhc,bc->bh", matrix, dx)

    return gradient_of(lambda mlp: jnp.mean(solve(field, z0, mlp, path, adjoint) ** 2), mlp)


def fwp(rule, batch, length, channels, dim, heads, feed_forward, outputs, post_tanh=False):
    size = dim // heads
    keys = iter(jr.split(jr.key(0), 8))

    def linear(inputs, outputs):
        return eqx.nn.Linear(inputs, outputs, key=next(keys))

    parameters = {
        "project": linear(channels, dim),
        "norm": eqx.nn.LayerNorm(dim),
        "slow": linear(dim, heads * ((2 if rule == "hebb" else 1) * size + 1)),
        "values": linear(channels, dim),
        "query": linear(dim, dim),
        "output": linear(dim, dim),
        "ff_norm": eqx.nn.LayerNorm(dim),
        "ff_in": linear(dim, feed_forward),
        "ff_out": linear(feed_forward, dim),
        "readout": linear(dim, outputs),
    }
    path = control(batch, length, channels)

    def features(source, p):
        return batched(p["norm"])(batched(p["project"])(source))

    def slope(x, dx, w, p):
        emitted = batched(p["slow"])(features(x if rule == "hebb" else dx, p)).reshape(batch, heads, -1)
        k = jax.nn.softmax(emitted[..., :size], -1)
        v = emitted[..., size:-1] if rule == "hebb" else batched(p["values"])(x).reshape(batch, heads, size)
        rate = jax.nn.sigmoid(emitted[..., -1:])
        if not post_tanh:
            v = jnp.tanh(v)
        if rule == "delta" and w is not None:
            v = v - jnp.einsum("bhvk,bhk->bhv", w, k)
        if post_tanh:
            v = jnp.tanh(v)
        return jnp.einsum("bhv,bhk->bhvk", rate * v, k)

    def loss(p):
        ends = [(path.evaluate(t), path.derivative(t)) for t in (0.0, length - 1.0)]
        w = solve(slope, slope(*ends[0], None, p), p, path, direct)
        q = batched(p["query"])(features(ends[1][0 if rule == "hebb" else 1], p)).reshape(batch, heads, size)
        answer = batched(p["output"])(jnp.einsum("bhvk,bhk->bhv", w, jax.nn.softmax(q, -1)).reshape(batch, dim))
        inner = jax.nn.relu(batched(p["ff_in"])(batched(p["ff_norm"])(answer)))
        return jnp.mean(batched(p["readout"])(batched(p["ff_out"])(inner) + answer) ** 2)

    return gradient_of(loss, parameters)


def matmul(size):
    a, b = (jr.normal(own, (size, size)) for own in jr.split(jr.key(0)))
    product = jax.jit(jnp.matmul)
    return lambda: jax.block_until_ready(product(a, b))


serve(
    f"Diffrax {diffrax.__version__}",
    {
        "ncde-character-direct": lambda: ncde(*sized(32, 182), 4, 32, 32, 3, direct),
        "ncde-character-adjoint": lambda: ncde(*sized(32, 182), 4, 32, 32, 3, continuous),
        "ncde-speech-adjoint": lambda: ncde(*sized(128, 161), 21, 90, 40, 4, continuous),
        **{
            f"ncde-hidden-{hidden}": lambda hidden=hidden: ncde(*sized(32, 65), 4, hidden, hidden, 3, direct)
            for hidden in (128, 256, 512)
        },
        "fwp-ode-speech-hebb": lambda: fwp("hebb", *sized(64, 161), 21, 128, 32, 512, 10),
        "fwp-cde-speech-delta": lambda: fwp("delta", *sized(64, 161), 21, 80, 4, 320, 10),
        "fwp-cde-worms-delta": lambda: fwp("delta", *sized(16, 1125), 7, 128, 16, 64, 5, post_tanh=True),
        "matmul": lambda: matmul(*sized(1024)),
    },
)
