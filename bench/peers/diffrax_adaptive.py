"""Training steps of bench/adaptive.ts with Diffrax (JAX, jitted): adaptive solves, events and stochastic equations.

    pip install diffrax
    python3 bench/peers/diffrax_adaptive.py WORKLOAD [--threads N]

Parameters and samples are drawn alike and not the same. Each sample has its own steps, by vmap.
"""
from on_demand import serve, sized, take_processors

take_processors()

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optimistix as optx

jax.config.update("jax_enable_x64", True)
double = jnp.float64


def mlp(inputs, outputs, seed):
    network = eqx.nn.MLP(inputs, outputs, 32, 1, key=jr.key(seed))
    return jax.tree.map(lambda x: x.astype(jnp.float32) if eqx.is_inexact_array(x) else x, network)


def of_states(field, y0, end, args, solver, tolerance):
    """A gradient with respect to initial states."""

    def solve(y, args):
        controller = diffrax.PIDController(rtol=tolerance, atol=tolerance)
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field), solver, 0.0, end, None, y, args, stepsize_controller=controller, max_steps=4096
        ).ys[0]

    step = jax.jit(jax.value_and_grad(lambda y: jnp.mean(jax.vmap(solve)(y, args) ** 2)))
    return lambda: jax.block_until_ready(step(y0))


def van_der_pol():
    (batch,) = sized(256)
    mu = jnp.abs(jr.normal(jr.key(0), (batch,), double)) * 3 + 0.5
    field = lambda t, y, mu: jnp.stack([y[1], (1 - y[0] ** 2) * y[1] * mu - y[0]])
    return of_states(field, 2 * jr.normal(jr.key(1), (batch, 2), double), 10.0, mu, diffrax.Dopri5(), 1e-6)


def lorenz():
    (batch,) = sized(256)

    def field(t, y, args):
        return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    y0 = 5 * jr.normal(jr.key(1), (batch, 3), double) + 1
    return of_states(field, y0, 2.0, jnp.zeros(batch), diffrax.Dopri5(), 1e-6)


def stiff():
    (batch,) = sized(32)
    field = lambda t, y, args: jnp.stack([y[1], 100 * (1 - y[0] ** 2) * y[1] - y[0]])
    x = jr.uniform(jr.key(1), (batch,), double, 1.5, 2.5)
    v = jr.uniform(jr.key(2), (batch,), double, -0.5, 0.5)
    return of_states(field, jnp.stack([x, v], 1), 100.0, jnp.zeros(batch), diffrax.Kvaerno5(), 1e-5)


def balls():
    closure = mlp(2, 1, 0)
    starts = jr.uniform(jr.key(1), (16,), jnp.float32, 5.0, 15.0)

    def field(t, y, closure):
        return jnp.concatenate([y[1:2], 0.1 * closure(y) - 9.81])

    def fall(y, closure):
        event = diffrax.Event(lambda t, y, args, **_: y[0], optx.Newton(1e-5, 1e-6), direction=False)
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field), diffrax.Dopri5(), 0.0, 100.0, None, y, closure,
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6), event=event, max_steps=4096,
        )
        return solution.ts[0], solution.ys[0]

    def second_time(closure, start):
        first, y = fall(jnp.stack([start, 0.0 * start]), closure)
        # A start at zero of the event would end the solve at once.
        second, _ = fall(jnp.stack([1e-6 + 0.0 * start, -0.8 * y[1]]), closure)
        return first + second

    loss = lambda closure: jnp.mean(jax.vmap(second_time, in_axes=(None, 0))(closure, starts) ** 2)
    step = eqx.filter_jit(eqx.filter_value_and_grad(loss))
    return lambda: jax.block_until_ready(step(closure)[0])


def latent_ode():
    """Each of 32 latent states is read at 20 times of its own."""
    field, readout = mlp(8, 8, 0), mlp(8, 2, 1)
    y0 = jr.normal(jr.key(2), (32, 8), jnp.float32)
    times = jnp.sort(jr.uniform(jr.key(3), (32, 20), jnp.float32, 0.0, 2.0), 1)

    def solve(networks, y, ts):
        field, readout = networks
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: jnp.tanh(field(y))), diffrax.Dopri5(), 0.0, 2.0, None, y,
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6),
            saveat=diffrax.SaveAt(ts=ts), max_steps=4096,
        )
        return jax.vmap(readout)(solution.ys)

    loss = lambda networks: jnp.mean(jax.vmap(solve, in_axes=(None, 0, 0))(networks, y0, times) ** 2)
    step = eqx.filter_jit(eqx.filter_value_and_grad(loss))
    return lambda: jax.block_until_ready(step((field, readout))[0])


def neural_sde():
    f, g = mlp(8, 8, 0), mlp(8, 8, 1)
    y0 = jr.normal(jr.key(2), (64, 8), jnp.float32)

    def solve(networks, y, key):
        f, g = networks
        path = diffrax.VirtualBrownianTree(0.0, 1.0, 5e-4, (8,), key)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: jnp.tanh(f(y))),
            diffrax.WeaklyDiagonalControlTerm(lambda t, y, args: jax.nn.sigmoid(g(y)), path),
        )
        return diffrax.diffeqsolve(
            terms, diffrax.Euler(), 0.0, 1.0, 1e-3, y, max_steps=1024
        ).ys[0]

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def step(networks, key):
        return jnp.mean(jax.vmap(lambda y, key: solve(networks, y, key))(y0, jr.split(key, 64)) ** 2)

    keys = iter(range(10**9))
    return lambda: jax.block_until_ready(step((f, g), jr.key(next(keys)))[0])


serve(
    "Diffrax",
    {
        "balls": balls,
        "latent-ode": latent_ode,
        "van-der-pol": van_der_pol,
        "lorenz": lorenz,
        "stiff-van-der-pol": stiff,
        "neural-sde": neural_sde,
    },
)
