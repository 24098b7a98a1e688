/**
 * Plots the states of a trained WARP along series: the correlation of each weight with time, and the states' path
 * on its first two principal components compared with gradient descent.
 */
import {
  Adam,
  clipByGlobalNorm,
  concatenate,
  gradientDescentPath,
  key,
  meanSquaredError,
  principalComponents,
  stack,
  type Tensor,
  tensor,
  tidy,
  timeCorrelation,
  valueAndGrad,
  WARP,
} from "../mod.ts";
import { sineWaves } from "../tasks/papers/data/dynamics.ts";
import type { Chart, Mark } from "../src/charts/chart.ts";
import { chartFile } from "../src/charts/file.ts";
import { formatPercent } from "../src/charts/format.ts";

const length = 64;
const trainingSteps = 1200;

function waves(count: number, seed: number): Tensor {
  const { values, shape } = sineWaves(count, key(seed), { length });
  return tensor(values, { shape });
}

/** A WARP trained to predict the next value of sine waves. */
async function trained() {
  const root = { width: 8, depth: 2, activation: "silu" } as const;
  const model = WARP({ inputChannels: 1, outputChannels: 1, root, key: key(0) });
  const x = waves(64, 1);
  const next = x.slice(1, 1);
  const optimizer = Adam(model.parameters, { learningRate: 1e-4 });
  const step = valueAndGrad(() => meanSquaredError(model(x).slice(1, 0, -1), next));
  let loss = NaN;
  for (let i = 0; i < trainingSteps; i++) {
    const [value, gradients] = step(model.parameters);
    optimizer.step(clipByGlobalNorm(gradients, 1).gradients);
    if (i % 100 === 99) console.log(`step ${i + 1}: loss ${loss = await value.item()}`);
  }
  return { model, loss };
}

const thirds = ["first third of the steps", "second third", "last third"];

/** Sorted correlations of the weights with the time, a line for each wave. */
function correlationChart(values: ArrayLike<number>, waves: number, weights: number): Chart {
  const x = Array.from({ length: weights }, (_, k) => k + 1);
  return {
    title: "Correlation of the weights with the time",
    panels: [{
      x: { title: "weights, sorted", isWhole: true },
      y: { title: "correlation with the time", includes: [-1, 1] },
      marks: Array.from({ length: waves }, (_, i): Mark => ({
        ...{ kind: "line", name: `wave ${i + 1}`, x },
        y: Float32Array.from(x, (_, k) => values[i * weights + k]).sort(),
      })),
    }],
  };
}

/** Weights on two principal components, by thirds of the time, and the path of gradient descent. */
function pathChart(path: ArrayLike<number>, descent: ArrayLike<number>, shares: ArrayLike<number>): Chart {
  const points = (name: string, values: ArrayLike<number>, has: (point: number) => boolean): Mark => {
    const chosen = Array.from({ length: values.length / 2 }, (_, i) => i).filter(has);
    const coordinates = (k: number) => chosen.map((i) => values[2 * i + k]);
    return { kind: "points", name, x: coordinates(0), y: coordinates(1) };
  };
  const axis = (name: string, k: number) => ({
    title: `${name} component, ${formatPercent(shares[k], 0)}`,
  });
  const thirdOf = (point: number) => Math.floor(3 * (point % length) / length);
  return {
    title: "Paths of the weights and of gradient descent",
    panels: [{
      x: axis("first", 0),
      y: axis("second", 1),
      marks: [
        ...thirds.map((name, third) => points(name, path, (point) => thirdOf(point) === third)),
        points("gradient descent", descent, () => true),
      ],
    }],
  };
}

const { model, loss } = await trained();
const shown = 5;
const test = waves(shown, 3);
const states = tidy(() => model.weights(test));
const ofWaves = tidy(() =>
  stack(Array.from({ length: shown }, (_, i) => timeCorrelation(states.slice(0, i, i + 1))))
);
const correlations = await ofWaves.data();
const descent = gradientDescentPath(model, test.select(0, 0), { steps: 300, learningRate: 0.02 });
const plane = principalComponents(concatenate([states.flatten(0, 1), descent]));
const [path, descentPath] = [await plane.project(states).data(), await plane.project(descent).data()];
const variance = await plane.shares.data();
const weights = model.stateSize;
const near = correlations.filter((value) => Math.abs(value) > 0.9).length / correlations.length;
console.log(`loss ${loss}, |correlation| above 0.9: ${(100 * near).toFixed(0)} % of the weights`);
console.log(`shares of the variance: ${[...variance].map((share) => share.toFixed(3)).join(", ")}`);
await Deno.writeTextFile(
  "docs/figures/warp_states.svg",
  chartFile([correlationChart(correlations, shown, weights), pathChart(path, descentPath, variance)]),
);
