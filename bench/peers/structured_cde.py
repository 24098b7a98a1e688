"""Training steps of a structured linear CDE with JAX: its products of matrices by an associative scan.

    pip install jax
    python3 bench/peers/structured_cde.py structured-cde [--threads N] [--device gpu]

The model is Weft's `StructuredCDE` with one layer, blocks of 4 and steps of Euler. A step is the loss and its gradient in one
compiled function. Here the state is divided by its root mean square once, after the scan.
"""
from on_demand import check_gpu, serve, sized, take_processors

take_processors()

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax

check_gpu(jax.default_backend() != "cpu", "JAX")

CHANNELS, BLOCK, OUTPUTS = 128, 4, 8


def structured_cde():
    batch, length = sized(16, 4096)
    blocks = CHANNELS // BLOCK
    x = jr.normal(jr.key(0), (length, batch, CHANNELS))
    control = jnp.concatenate([jnp.ones((length, batch, 1)), x], -1)
    keys = jr.split(jr.key(1), 4)
    fan = (BLOCK * (CHANNELS + 1)) ** 0.5
    parameters = {
        "matrices": jr.normal(keys[0], (CHANNELS + 1, blocks * BLOCK * BLOCK)) * 0.1 / fan,
        "start": jr.normal(keys[1], (blocks, BLOCK)),
        "features": (jr.normal(keys[2], (CHANNELS, CHANNELS)) / CHANNELS**0.5, jnp.zeros(CHANNELS)),
        "outputs": (jr.normal(keys[3], (CHANNELS, OUTPUTS)) / CHANNELS**0.5, jnp.zeros(OUTPUTS)),
    }

    def loss(parameters):
        changes = (control @ parameters["matrices"]).reshape(length, batch, blocks, BLOCK, BLOCK)
        products = lax.associative_scan(lambda p, q: q @ p, changes + jnp.eye(BLOCK))
        h = jnp.einsum("lbnij,nj->lbni", products, parameters["start"]).reshape(length, batch, CHANNELS)
        h = h / jnp.sqrt((h**2).mean(-1, keepdims=True))
        for weight, bias in (parameters["features"], parameters["outputs"]):
            h = h @ weight + bias
        return (h**2).mean()

    step = jax.jit(jax.value_and_grad(loss))
    return lambda: jax.block_until_ready(step(parameters))


serve("JAX", {"structured-cde": structured_cde})
