/**
 * Draws what the states of a trained WARP do along series: how each weight goes with the time, and their path on its first
 * two principal components.
 */
import {
  Adam,
  clipByGlobalNorm,
  key,
  meanSquaredError,
  normal,
  scope,
  stack,
  type Tensor,
  tensor,
  valueAndGrad,
  WARP,
} from "../mod.ts";
import { sineWaves } from "../src/data/dynamics.ts";

const length = 64;
const trainingSteps = 1200;

function waves(count: number, seed: number): Tensor {
  const { values, shape } = sineWaves(count, key(seed), { length });
  return tensor(values, { shape });
}

/** A WARP that has learned to predict the next value of sine waves. */
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

/** Pearson's correlation of each weight with the time, `(batch, D)`, from states `(batch, T, D)`. */
function timeCorrelation(states: Tensor): Tensor {
  const tau = tensor(Float32Array.from({ length }, (_, t) => t / (length - 1) - 0.5)).expandDims(1);
  const centred = states.sub(states.mean(1, { keepDims: true }));
  const together = centred.mul(tau).sum(1);
  return together.div(centred.square().sum(1).mul(tau.square().sum()).sqrt().add(1e-12));
}

/** Coordinates on the first principal components of all rows, `(rows, D)` to `(rows, 2)`, and their shares of the variance. */
function principalComponents(rows: Tensor): { coordinates: Tensor; shares: Tensor } {
  const centred = rows.sub(rows.mean(0));
  const covariance = centred.mT.matmul(centred);
  // Orthogonal iteration.
  let basis = normal(key(2), [rows.shape[1], 2]);
  for (let i = 0; i < 200; i++) {
    basis = scope(() => {
      const moved = covariance.matmul(basis);
      const first = unit(moved.at(1, 0));
      const second = moved.at(1, 1);
      const rest = unit(second.sub(first.mul(first.mul(second).sum())));
      return stack([first, rest], 1);
    });
  }
  const coordinates = centred.matmul(basis);
  return { coordinates, shares: coordinates.square().sum(0).div(centred.square().sum()) };
}

function unit(x: Tensor): Tensor {
  return x.div(x.square().sum().sqrt());
}

const panel = { width: 320, height: 280, left: 48, right: 16, top: 34, bottom: 44 };
const colour = (share: number) => `hsl(${Math.round(240 - 240 * share)} 70% 45%)`;

interface Axes {
  readonly title: string;
  readonly x: readonly [low: number, high: number, name: string];
  readonly y: readonly [low: number, high: number, name: string];
}

/** A panel's frame, and where numbers lie in it. */
function frame({ title, x, y }: Axes) {
  const at = (value: number, [low, high]: Axes["x"], from: number, to: number) =>
    (from + (value - low) / (high - low) * (to - from)).toFixed(1);
  const place = (px: number, py: number) => [
    at(px, x, panel.left, panel.width - panel.right),
    at(py, y, panel.height - panel.bottom, panel.top),
  ];
  const middle = (panel.top + panel.height - panel.bottom) / 2;
  const ticks = [0, 1].flatMap((share) => {
    const [valueX, valueY] = [x[0] + share * (x[1] - x[0]), y[0] + share * (y[1] - y[0])];
    const [px, py] = place(valueX, valueY);
    const short = (value: number) => `${Number(value.toPrecision(2))}`;
    return [
      `<text x="${px}" y="${panel.height - panel.bottom + 14}" text-anchor="middle">${short(valueX)}</text>`,
      `<text x="${panel.left - 5}" y="${py}" text-anchor="end">${short(valueY)}</text>`,
      `<path class="grid" d="M${panel.left},${py}H${panel.width - panel.right}"/>`,
    ];
  });
  const labels = `<text class="title" x="${panel.left}" y="18">${title}</text>` +
    `<text x="${panel.width / 2}" y="${panel.height - 12}" text-anchor="middle">${x[2]}</text>` +
    `<text transform="translate(12 ${middle}) rotate(-90)" text-anchor="middle">${y[2]}</text>`;
  return { place, parts: [labels, ...ticks] };
}

/** The correlations of several series, each sorted. */
function drawCorrelations(values: ArrayLike<number>, series: number, weights: number): string {
  const { place, parts } = frame({
    title: "Correlation of the weights with the time",
    x: [1, weights, "weights, sorted"],
    y: [-1, 1, "correlation with tau"],
  });
  const lines = Array.from({ length: series }, (_, i) => {
    const own = Float32Array.from({ length: weights }, (_, k) => values[i * weights + k]).sort();
    const points = Array.from(own, (value, k) => place(k + 1, value).join(","));
    return `<path class="line" stroke="${colour(i / Math.max(1, series - 1))}" d="M${points.join("L")}"/>`;
  });
  return [...parts, ...lines].join("\n");
}

/** Paths of several series, coloured by the time. */
function drawPaths(values: ArrayLike<number>, series: number, shares: ArrayLike<number>): string {
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  const bounds = (component: number, name: string) => {
    const own = Array.from({ length: series * length }, (_, i) => values[2 * i + component]);
    return [Math.min(...own), Math.max(...own), name] as const;
  };
  const { place, parts } = frame({
    title: "Paths of the weights, blue to red in time",
    x: bounds(0, `first component, ${percent(shares[0])} of the variance`),
    y: bounds(1, `second component, ${percent(shares[1])}`),
  });
  const dots = Array.from({ length: series * length }, (_, i) => {
    const [x, y] = place(values[2 * i], values[2 * i + 1]);
    return `<circle cx="${x}" cy="${y}" r="2" fill="${colour(i % length / (length - 1))}"/>`;
  });
  return [...parts, ...dots].join("\n");
}

const { model, loss } = await trained();
const shown = 5;
const states = scope(() => model.weights(waves(shown, 3)));
const correlations = await timeCorrelation(states).data();
const { coordinates, shares } = principalComponents(states.flatten(0, 1));
const [path, variance] = [await coordinates.data(), await shares.data()];
const weights = model.stateSize;
const near = correlations.filter((value) => Math.abs(value) > 0.9).length / correlations.length;
console.log(`loss ${loss}, |correlation| above 0.9: ${(100 * near).toFixed(0)} % of the weights`);
console.log(`shares of the variance: ${[...variance].map((share) => share.toFixed(3)).join(", ")}`);
const style = `text { font: 10px sans-serif; fill: #444 } .title { font-size: 12px; font-weight: bold }
.grid { stroke: #ddd } .line { stroke-width: 1.5; fill: none }`;
await Deno.writeTextFile(
  "docs/figures/warp_states.svg",
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * panel.width} ${panel.height}" width="${
    2 * panel.width
  }">
<style>${style}</style>
<rect width="100%" height="100%" fill="white"/>
${drawCorrelations(correlations, shown, weights)}
<g transform="translate(${panel.width})">
${drawPaths(path, shown, variance)}
</g>
</svg>
`,
);
