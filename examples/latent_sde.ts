/**
 * A latent SDE (Li et al., "Scalable Gradients for Stochastic Differential Equations", 2020) learns the law of noisy paths: the
 * prior is dz = f(z) dt + g dW, and the posterior has the drift h(t, z, x). The loss is the negative evidence lower bound: the
 * errors at the observations, and the integral of |(h - f) / g|^2 / 2.
 */
import { Adam, concatenate, GRU, jit, type Key, key, LinearInterpolation, MLP } from "../mod.ts";
import { normal, ones, sdeint, splitKey, type Tensor, tensor, valueAndGrad, zeros } from "../mod.ts";

const [series, length, noise] = [128, 21, 0.2];
const t = Array.from({ length }, (_, i) => i / 10);
const options = { method: "euler_maruyama", stepSize: 0.05 } as const;
// The data: Ornstein-Uhlenbeck processes, which move from -1 to 1.
const start = ones([series, 1]).neg();
const path = sdeint((_t, y) => y.sub(1).mul(-2), (_t, y) => y.mul(0).add(0.5), start, t, key(0), options);
const x = path.add(normal(key(1), path.shape).mul(noise)); // (length, series, 1)
const keys = splitKey(key(2), 3);
const encoder = GRU({ inputs: 1, hidden: 16, key: keys[0] });
const drift = MLP({ inputs: 18, outputs: 1, width: 32, depth: 1, activation: "softplus", key: keys[1] });
const prior = MLP({ inputs: 1, outputs: 1, width: 32, depth: 1, activation: "softplus", key: keys[2] });
const logDiffusion = tensor([0]);
const parameters = [encoder.parameters, drift.parameters, prior.parameters, logDiffusion];
const g = (z: Tensor) => z.mul(0).add(logDiffusion.exp());

function loss(key: Key): Tensor {
  // The context at a time depends on the observations from that time on.
  const future = LinearInterpolation(encoder(x.transpose(0, 1).flip(1)).flip(1), t);
  const { z, cost } = sdeint(
    (t, { z }) => {
      const h = drift(concatenate([z, t.broadcastTo([series, 1]), future.evaluate(t)], -1));
      return { z: h, cost: h.sub(prior(z)).div(logDiffusion.exp()).square().mul(0.5) };
    },
    (_t, { z, cost }) => ({ z: g(z), cost: cost.mul(0) }),
    { z: start, cost: zeros([series, 1]) },
    ...[t, key, options] as const,
  );
  return x.sub(z).div(noise).square().mul(0.5).sum(0).add(cost.select(0, -1)).mean();
}

const optimizer = Adam(parameters, { learningRate: 0.01 });
const step = jit((key: Key) => {
  const [value, gradients] = valueAndGrad(() => loss(key))(parameters);
  optimizer.step(gradients);
  return value;
});
for (let i = 0; i <= 600; i++) {
  const value = step(key(100 + i));
  if (i % 200 === 0) console.log(`step ${i}, negative bound ${(await value.item()).toFixed(2)}`);
}
const samples = sdeint((_t, z) => prior(z), (_t, z) => g(z), start, t, key(5), options);
for (const [name, y] of Object.entries({ data: path.select(0, -1), samples: samples.select(0, -1) })) {
  console.log(`${name} at t = 2: mean ${await y.mean().item()}, standard deviation ${await y.std().item()}`);
}
