"""Steps of WARP's workloads with its authors' code (JAX, jitted).

    pip install "jax[cpu]" equinox matplotlib scikit-learn
    python3 bench/peers/warp_jax.py WORKLOAD --checkouts FOLDER [--threads N] [--device gpu]

FOLDER holds a checkout of ddrous/warp. A step is a loss on one batch and the gradient of all parameters.
"""
import os

from on_demand import check_gpu, checkout, options, serve, sized, take_processors

os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads={options.threads}"
take_processors()
os.chdir(checkout("warp"))

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from models import WSM

check_gpu(jax.default_backend() != "cpu", "JAX")

common = dict(
    input_prev_data=False,
    time_as_channel=False,
    weights_lim=None,
    noise_theta_init=None,
    stochastic_ar=False,
    predict_uncertainty=False,
)


def squared_error(predictions, x, _labels):
    return jnp.mean((predictions[:, :-1] - x[:, 1:]) ** 2)


def gaussian(predictions, x, _labels):
    mean, deviation = jnp.split(predictions, 2, -1)
    return jnp.mean(jnp.log(deviation) + ((mean - x) / deviation) ** 2 / 2)


def cross_entropy(logits, _x, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits[:, -1]), labels[:, None], 1).mean()


def step(batch, length, channels, loss, **settings):
    model = WSM(channels, key=jr.PRNGKey(0), **{**common, **settings})
    x = jr.normal(jr.PRNGKey(1), (batch, length, channels)).cumsum(1) / length**0.5
    times = jnp.broadcast_to(jnp.linspace(0, 1, length)[:, None], (batch, length, 1))
    labels = jnp.arange(batch) % 2
    gradient = eqx.filter_jit(eqx.filter_value_and_grad(lambda model, key: loss(model(x, times, key), x, labels)))
    keys = iter(jr.split(jr.PRNGKey(2), 10_000))
    return lambda: jax.block_until_ready(gradient(model, next(keys)))


serve(
    "WARP's authors (JAX)",
    {
        "warp-sine": lambda: step(
            *sized(10, 16), 1, squared_error, width_size=48, depth=3, activation="swish", final_activation=None, forcing_prob=0.25
        ),
        "warp-msd": lambda: step(
            *sized(128, 32), 2, squared_error, width_size=48, depth=3, activation="swish", final_activation=38.0, forcing_prob=0.25
        ),
        "warp-mnist": lambda: step(
            *sized(64, 196),
            1,
            gaussian,
            width_size=24,
            depth=3,
            activation="relu",
            final_activation="tanh",
            predict_uncertainty=True,
            std_lower_bound=0.5,
            forcing_prob=0.15,
            init_state_layers=None,
        ),
        "warp-spirals": lambda: step(
            *sized(256, 64),
            2,
            cross_entropy,
            width_size=24,
            depth=1,
            activation="swish",
            final_activation=None,
            autoregressive_train=False,
            nb_classes=2,
        ),
    },
)
