"""Trains the Transformer of WARP's paper, Hugging Face's TimeSeriesTransformerForPrediction, on data that Weft made.

    pip install torch transformers numpy safetensors
    deno run --allow-read --allow-write bench/peers/export_data.ts mass-spring-damper-zero
    python3 bench/peers/time_series_transformer.py mass-spring-damper-zero.safetensors --context 25
    deno run --allow-read --allow-write bench/peers/export_data.ts sine
    python3 bench/peers/time_series_transformer.py sine.safetensors --context 1 --lags 1 --features 58 --steps 4000

Errors are mean squared errors of what comes after the context, from the model's own predictions, over series, times and
channels: once with the predicted means fed back, once of the mean of sampled continuations. The weights are those of the
smallest validation error with means fed back. The model knows no inputs besides a series, so that where an experiment's
targets are others than its series, they are what it continues. Options left out are the library's: a Student's
t-distribution, division by the context's mean absolute value, dropouts of 0.1. What a window or its lags lack is zero and
marked as not observed.
"""
import argparse
import copy
import math

import numpy as np
import torch
from safetensors.numpy import load_file
from transformers import TimeSeriesTransformerConfig, TimeSeriesTransformerForPrediction

parser = argparse.ArgumentParser()
parser.add_argument("data", help="safetensors file of train, validation and test, each (series, length, channels)")
parser.add_argument("--context", type=int, required=True, help="number of observations that are given")
parser.add_argument("--steps", type=int, default=20_000)
parser.add_argument("--features", type=int, default=18, help="of each of two layers of encoder and decoder")
parser.add_argument("--lags", type=int, nargs="+", default=[1, 2, 3, 4, 5, 6, 7], help="earlier values of an input")
parser.add_argument("--dropout", type=float, default=0.1, help="of values, attention, activations and whole layers")
parser.add_argument("--scaling", choices=["mean", "std", "none"], default="mean")
parser.add_argument("--windows", choices=["random", "whole"], default="random", help="whole: always the full context")
parser.add_argument("--samples", type=int, default=100, help="continuations of a series, whose mean is its forecast")
parser.add_argument("--validate-every", type=int, default=500)
parser.add_argument("--seed", type=int, default=0)
options = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(options.seed)
random = np.random.default_rng(options.seed)

arrays = load_file(options.data)
data = {part: arrays.get(f"{part} targets", arrays[part]).astype(np.float32) for part in ("train", "validation", "test")}
_, length, channels = data["train"].shape
context, future, past = options.context, length - options.context, options.context + max(options.lags)


class Forecaster(TimeSeriesTransformerForPrediction):
    """Its `generate` draws samples of what it predicts or, once `feeds_means` is set, takes the means."""

    feeds_means = False

    def output_distribution(self, *args, **named):
        distribution = super().output_distribution(*args, **named)
        if self.feeds_means:
            distribution.sample = lambda *_: distribution.mean
        return distribution


dropouts = ("dropout", "attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop")
sizes = {"layers": 2, "attention_heads": 2, "ffn_dim": 4 * options.features}
config = TimeSeriesTransformerConfig(
    prediction_length=future, context_length=context, input_size=channels, lags_sequence=options.lags,
    num_time_features=1, scaling=None if options.scaling == "none" else options.scaling, d_model=options.features,
    **dict.fromkeys(dropouts, options.dropout),
    **{f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()},
)
model = Forecaster(config)
optimizer = torch.optim.AdamW(model.parameters(), 6e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)


def windows(series, given):
    """Arguments of the model for series of each of which the first `given` values are known, and what follows them."""
    at = given[:, None] + np.arange(past + future)  # in series that begin after `past` zeros
    padded = (np.pad(array, ((0, 0), (past, 0), (0, 0))) for array in (series, np.ones_like(series)))
    values, observed = (array[np.arange(len(series))[:, None], at] for array in padded)
    ages = np.log10(2 + np.maximum(at - past, 0), dtype=np.float32)[..., None]  # as GluonTS measures the age of a series
    if channels == 1:  # of which the library takes no axis
        values, observed = values[..., 0], observed[..., 0]
    values, observed, ages = map(torch.from_numpy, (values, observed, ages))
    inputs = {"past_values": values[:, :past], "past_observed_mask": observed[:, :past]}
    times = {"past_time_features": ages[:, :past], "future_time_features": ages[:, past:]}
    return {**inputs, **times}, values[:, past:]


@torch.no_grad()
def error(series, samples=0):
    """Mean squared error of the mean of sampled continuations or, of 0 samples, with means fed back."""
    model.eval()
    model.feeds_means, model.config.num_parallel_samples = samples == 0, max(samples, 1)
    total = 0.0
    for part in np.array_split(series, math.ceil(len(series) / (32 if samples else 512))):
        inputs, targets = windows(part, np.full(len(part), context))
        total += float((model.generate(**inputs).sequences.mean(1) - targets).double().square().sum())
    return total / series[:, context:].size


print(f"{sum(p.numel() for p in model.parameters() if p.requires_grad):,} parameters")
best, order = (math.inf, 0, None), []
for step in range(1, options.steps + 1):
    if len(order) == 0:
        order = random.permutation(len(data["train"]))
    rows, order = order[:32], order[32:]
    given = random.integers(0 if options.windows == "random" else context, context + 1, len(rows))
    inputs, targets = windows(data["train"][rows], given)
    model.train()
    loss = model(**inputs, future_values=targets).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % options.validate_every == 0 or step == options.steps:
        validation = error(data["validation"])
        if validation < best[0]:
            best = validation, step, copy.deepcopy(model.state_dict())
        print(f"step {step}: loss {loss.item():.4f}, validation {validation:.6g}", flush=True)
model.load_state_dict(best[2])
print(f"weights of step {best[1]}")
for name in ("validation", "test"):
    zero = (data[name][:, context:].astype(np.float64) ** 2).mean()
    print(f"{name}: means fed back {error(data[name]):.6g}, mean of {options.samples} continuations "
          f"{error(data[name], options.samples):.6g}, to predict zero {zero:.6g}", flush=True)
