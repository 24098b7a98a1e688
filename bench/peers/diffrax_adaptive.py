"""Times Diffrax (JAX, jitted, on the CPU) on the equations of bench/adaptive_steps.ts, each sample with steps of its own.

    pip install diffrax
    python3 bench/peers/diffrax_adaptive.py [--threads N] [--repeats N]

The samples are drawn alike and not the same. Prints medians after the first run, which compiles and is reported by itself.
"""
import argparse
import os
import statistics
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--repeats", type=int, default=9)
options = parser.parse_args()
if hasattr(os, "sched_setaffinity"):  # XLA takes as many threads as the process may use cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
# A file beside this one has the package's name.
sys.path = [folder for folder in sys.path if os.path.abspath(folder) != os.path.dirname(os.path.abspath(__file__))]

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
batch = 256
random = np.random.default_rng(0)
stiffness = jnp.asarray(np.abs(random.standard_normal(batch)) * 3 + 0.5)


def van_der_pol(_t, y, mu):
    return jnp.stack([y[1], (1 - y[0] ** 2) * y[1] * mu - y[0]])


def lorenz(_t, y, _mu):
    return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


problems = {
    "Van der Pol": (van_der_pol, random.standard_normal((batch, 2)) * 2, 10.0),
    "Lorenz": (lorenz, random.standard_normal((batch, 3)) * 5 + 1, 2.0),
}
for name, (field, y0, end) in problems.items():

    def solve(y, mu):
        controller = diffrax.PIDController(rtol=1e-6, atol=1e-6)
        term = diffrax.ODETerm(field)
        return diffrax.diffeqsolve(
            term, diffrax.Dopri5(), 0.0, end, None, y, mu, stepsize_controller=controller, max_steps=4096
        )

    def final(y):
        return jax.vmap(solve)(y, stiffness).ys

    y0 = jnp.asarray(y0)
    stats = jax.vmap(solve)(y0, stiffness).stats
    steps = stats["num_accepted_steps"]
    print(f"{name}: {steps.mean():.1f} steps a sample ({steps.min()} to {steps.max()})")
    works = {"solve": jax.jit(final), "gradient": jax.jit(jax.grad(lambda y: jnp.mean(final(y) ** 2)))}
    for what, work in works.items():

        def run():
            start = time.perf_counter()
            jax.block_until_ready(work(y0))
            return time.perf_counter() - start

        first = run()
        median = statistics.median(run() for _ in range(options.repeats))
        print(f"  {what}: {1000 * median:.1f} ms, the first {first:.2f} s")
