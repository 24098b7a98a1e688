"""Trains WARP's published code (JAX) on data that Weft made, by the recipe of that code.

    pip install "jax[cpu]" equinox optax safetensors matplotlib scikit-learn
    deno run --allow-read --allow-write bench/peers/export_data.ts mass-spring-damper-zero
    python3 bench/peers/train_warp_jax.py mass-spring-damper-zero.safetensors --checkout FOLDER --context 25
    deno run --allow-read --allow-write bench/peers/export_data.ts lotka-volterra 256
    python3 bench/peers/train_warp_jax.py lotka-volterra.safetensors --checkout FOLDER --context 256 --forcing 1 --initial learned --epochs 500

FOLDER is a checkout of ddrous/warp. The recipe is AdaBelief, gradients whose elements are clipped to 1e-7, and a rate that is
halved on a plateau of the training loss. Errors are mean squared errors of what comes after the context, or of all steps where
all are given, from the model's own predictions; those at the end are of the epoch of the smallest validation error.
"""
import argparse
import os
import sys

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("data", help="safetensors file of export_data.ts")
parser.add_argument("--checkout", required=True, help="folder of ddrous/warp")
parser.add_argument("--context", type=int, required=True, help="number of observations that are given")
parser.add_argument("--forcing", type=float, default=0.25, help="probability that training gives an observation")
parser.add_argument("--initial", choices=["network", "learned"], default="network", help="where theta_0 comes from")
parser.add_argument("--rate", type=float, default=1e-5)
parser.add_argument("--width", type=int, default=16, help="of the root network")
parser.add_argument("--depth", type=int, default=1, help="number of its hidden layers")
parser.add_argument("--epochs", type=int, default=312)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--validate-every", type=int, default=10)
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()

os.environ["JAX_PLATFORMS"] = "cpu"
data_file = os.path.abspath(options.data)
os.chdir(options.checkout)
sys.path.insert(0, os.getcwd())

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from models import WSM
from safetensors.numpy import load_file

data = {name: values.astype(np.float32) for name, values in load_file(data_file).items()}
count, length, channels = data["train"].shape
first = options.context if options.context < length else 0
times = np.linspace(0, 1, length, dtype=np.float32)[:, None]

model = WSM(
    channels, options.width, options.depth, "swish", [1.0, 0.0, 1.0, 0.0],
    init_state_layers=2 if options.initial == "network" else None, predict_uncertainty=False, time_as_channel=False,
    forcing_prob=options.forcing, autoregressive_train=True, stochastic_ar=False, smooth_inference=True,
    key=jax.random.PRNGKey(options.seed),
)
plateau = {"patience": 20, "factor": 0.5, "rtol": 1e-4, "accumulation_size": 50, "min_scale": 1e-2}
optimizer = optax.chain(
    optax.clip(1e-7), optax.adabelief(options.rate), optax.contrib.reduce_on_plateau(cooldown=0, **plateau)
)


def predictions(model, x, key, given=None):
    return model(x, jnp.broadcast_to(times, (*x.shape[:2], 1)), key, inference_start=given)


@eqx.filter_jit
def step(model, state, x, y, key):
    loss, gradients = eqx.filter_value_and_grad(lambda model: jnp.mean((predictions(model, x, key) - y) ** 2) / 2)(model)
    updates, state = optimizer.update(gradients, state, model, value=loss)
    return eqx.apply_updates(model, updates), state, loss


forecast = eqx.filter_jit(lambda model, x: predictions(model, x, jax.random.PRNGKey(0), options.context))


def targets(part):
    return data.get(f"{part} targets", data[part])


def error(model, part):
    differences = np.asarray(forecast(model, data[part]), np.float64) - targets(part)
    return (differences[:, first:] ** 2).mean()


state = optimizer.init(eqx.filter(model, eqx.is_array))
print(f"{sum(x.size for x in jax.tree.leaves(eqx.filter(model, eqx.is_array))):,} parameters")
random, key = np.random.default_rng(options.seed), jax.random.PRNGKey(options.seed + 1)
best = np.inf, 0, model
for epoch in range(1, options.epochs + 1):
    losses = []
    for rows in random.permutation(count)[: count // options.batch * options.batch].reshape(-1, options.batch):
        key, own = jax.random.split(key)
        model, state, loss = step(model, state, data["train"][rows], targets("train")[rows], own)
        losses.append(loss)
    if epoch % options.validate_every == 0 or epoch == options.epochs:
        validation = error(model, "validation")
        if validation < best[0]:
            best = validation, epoch, model
        print(f"epoch {epoch}: loss {2 * np.mean(losses):.6g}, validation {validation:.6g}", flush=True)
validation, epoch, model = best
mean = targets("train").mean(0)
print(f"weights of epoch {epoch}: validation {validation:.6g}, test {error(model, 'test'):.6g}")
for name, guess in {"to predict zero": 0, "the training series' mean": mean[first:]}.items():
    print(f"{name}: test {((targets('test')[:, first:].astype(np.float64) - guess) ** 2).mean():.6g}")
