"""Steps of the papers' workloads with torchcde, torchdiffeq and the fast weight programmers' published code, on PyTorch.

    pip install torch scipy
    python3 bench/peers/pytorch.py WORKLOAD --checkouts FOLDER [--threads N] [--device gpu]

FOLDER holds checkouts of rtqichen/torchdiffeq, patrick-kidger/torchcde and IDSIA/neuraldiffeq-fwp. A step is a loss and its
gradient; of splines, their coefficients. The solver is torchdiffeq's `rk4` with steps of one. The published fast weight
programmers are differentiated as they are published, by the continuous adjoint.
"""
import sys
import types

from on_demand import check_gpu, checkout, options, serve, sized

checkout("torchdiffeq")
checkout("torchcde")
# torchcde imports it for stochastic equations, of which there are none here.
sys.modules["torchsde"] = types.SimpleNamespace(sdeint=None, sdeint_adjoint=None)

import torch
import torchcde

torch.set_num_threads(options.threads)
torch.manual_seed(0)
check_gpu(torch.cuda.is_available(), "PyTorch")
if options.device == "gpu":
    torch.set_default_device("cuda")


def walks(batch, length, channels):
    """Random walks with the time as first channel, `(batch, length, channels)`."""
    time = torch.arange(length, dtype=torch.float32).expand(batch, length)
    return torch.cat([time.unsqueeze(-1), torch.randn(batch, length, channels - 1).cumsum(1) / length**0.5], -1)


def gradient_of(loss):
    def step():
        loss().backward()

    return step


class VectorField(torch.nn.Module):
    """A perceptron from (batch, hidden) to (batch, hidden, channels)."""

    def __init__(self, channels, hidden, width, depth):
        super().__init__()
        sizes = [hidden] + [width] * depth
        layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())]
        self.net = torch.nn.Sequential(*layers, torch.nn.Linear(width, hidden * channels), torch.nn.Tanh())
        self.shape = hidden, channels

    def forward(self, _t, z):
        return self.net(z).view(-1, *self.shape)


def ncde(batch, length, channels, hidden, width, depth, adjoint):
    X = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(walks(batch, length, channels)))
    field, z0 = VectorField(channels, hidden, width, depth), torch.randn(batch, hidden)

    def loss():
        z = torchcde.cdeint(
            X=X, func=field, z0=z0, t=X.interval, adjoint=adjoint, method="rk4", options={"step_size": 1.0}
        )
        return z[:, -1].square().mean()

    return gradient_of(loss)


def fast_weights(form, rule, batch, length, channels, dim, heads, feed_forward, outputs, **rest):
    folder = checkout("neuraldiffeq-fwp/speech_and_physionet")
    sys.path.insert(0, f"{folder}/experiments")
    import controldiffeq
    from models import metamodel

    times = torch.arange(length, dtype=torch.float32)
    coeffs = controldiffeq.natural_cubic_spline_coeffs(times, walks(batch, length, channels))
    last = torch.full((batch,), length - 1)
    model = {"ode": metamodel.FastWeightODE, "cde": metamodel.FastWeightCDEv2}[form](
        input_channels=channels,
        hidden_channels=dim,
        output_channels=outputs,
        num_heads=heads,
        trafo_ff_dim=feed_forward,
        learning_rule=rule,
        **rest,
    )
    return gradient_of(lambda: model(times, coeffs, last).square().mean())


def spline(batch, length, channels, missing):
    x = torch.randn(batch, length, channels)
    x[torch.rand_like(x) < missing] = float("nan")
    return lambda: torchcde.natural_cubic_coeffs(x)


def matmul(size):
    a, b = torch.randn(size, size), torch.randn(size, size)
    return lambda: a @ b


serve(
    f"PyTorch {torch.__version__.split('+')[0]}",
    {
        "ncde-character-direct": lambda: ncde(*sized(32, 182), 4, 32, 32, 3, False),
        "ncde-character-adjoint": lambda: ncde(*sized(32, 182), 4, 32, 32, 3, True),
        "ncde-speech-adjoint": lambda: ncde(*sized(128, 161), 21, 90, 40, 4, True),
        **{
            f"ncde-hidden-{hidden}": lambda hidden=hidden: ncde(*sized(32, 65), 4, hidden, hidden, 3, False)
            for hidden in (128, 256, 512)
        },
        "fwp-ode-speech-hebb": lambda: fast_weights("ode", "hebb", *sized(64, 161), 21, 128, 32, 512, 10),
        "fwp-cde-speech-delta": lambda: fast_weights("cde", "delta", *sized(64, 161), 21, 80, 4, 320, 10),
        "fwp-cde-worms-delta": lambda: fast_weights("cde", "delta", *sized(16, 1125), 7, 128, 16, 64, 5, delta_post_tahn=True),
        "spline-dense": lambda: spline(*sized(1024, 161), 21, 0),
        "spline-missing": lambda: spline(*sized(64, 72), 34, 0.9),
        "matmul": lambda: matmul(*sized(1024)),
    },
    torch.cuda.synchronize if options.device == "gpu" else lambda: None,
)
