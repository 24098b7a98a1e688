/**
 * Plots the states of a trained WARP along series: the correlation of each weight with time, the states' path
 * on its first two principal components compared with gradient descent, the read-out matrix, and A.
 */
import {
  Adam,
  clipByGlobalNorm,
  concatenate,
  gradientDescentPath,
  key,
  meanSquaredError,
  principalComponents,
  readoutMatrix,
  scope,
  stack,
  type Tensor,
  tensor,
  timeCorrelation,
  valueAndGrad,
  WARP,
} from "../mod.ts";
import { sineWaves } from "../tasks/papers/data/dynamics.ts";
import { largest } from "../src/device/extremes.ts";

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

const panel = { width: 320, height: 280, left: 48, right: 16, top: 34, bottom: 44 };
const colour = (share: number) => `hsl(${Math.round(240 - 240 * share)}, 70%, 45%)`;

interface Axes {
  readonly title: string;
  readonly x: readonly [low: number, high: number, name: string];
  readonly y: readonly [low: number, high: number, name: string];
}

/** A panel's frame, and the mapping from values to positions. */
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
    const sorted = Float32Array.from({ length: weights }, (_, k) => values[i * weights + k]).sort();
    const points = Array.from(sorted, (value, k) => place(k + 1, value).join(","));
    return `<path class="line" stroke="${colour(i / Math.max(1, series - 1))}" d="M${points.join("L")}"/>`;
  });
  return [...parts, ...lines].join("\n");
}

/** Points of paths on two components: coloured by time, or grey for gradient descent. */
function drawPaths(
  values: ArrayLike<number>,
  descent: ArrayLike<number>,
  series: number,
  shares: ArrayLike<number>,
): string {
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  const all = [...Array.from(values), ...Array.from(descent)];
  const bounds = (component: number, name: string) => {
    const coordinates = all.filter((_, i) => i % 2 === component);
    return [Math.min(...coordinates), Math.max(...coordinates), name] as const;
  };
  const { place, parts } = frame({
    title: "Paths; grey: gradient descent",
    x: bounds(0, `first component, ${percent(shares[0])} of the variance`),
    y: bounds(1, `second component, ${percent(shares[1])}`),
  });
  const dot = (points: ArrayLike<number>, i: number, fill: string) => {
    const [x, y] = place(points[2 * i], points[2 * i + 1]);
    return `<circle cx="${x}" cy="${y}" r="2" fill="${fill}"/>`;
  };
  const steps = Array.from({ length: descent.length / 2 }, (_, i) => dot(descent, i, "#999"));
  const dots = Array.from(
    { length: series * length },
    (_, i) => dot(values, i, colour(i % length / (length - 1))),
  );
  return [...parts, ...steps, ...dots].join("\n");
}

/** Number of shades of a heat map on either side of zero. */
const shades = 8;

/** A square matrix as a heat map: blue below zero, red above. */
function drawMatrix(values: ArrayLike<number>, title: string, x: string, y: string): string {
  const side = Math.round(Math.sqrt(values.length));
  const { place, parts } = frame({ title, x: [0, side - 1, x], y: [side - 1, 0, y] });
  const most = largest(Float64Array.from(values, Math.abs));
  const [left, top] = place(0, 0).map(Number);
  const [right, bottom] = place(side - 1, side - 1).map(Number);
  // Cells of the same shade share one SVG path. Adjacent cells of a row form one segment.
  const pieces = new Map<number, string[]>();
  const shadeAt = (i: number) => Math.round(shades * values[i] / most);
  for (let start = 0; start < values.length;) {
    let end = start + 1;
    while (end % side !== 0 && shadeAt(end) === shadeAt(start)) end++;
    const segments = pieces.get(shadeAt(start)) ?? [];
    segments.push(`M${start % side} ${Math.floor(start / side)}h${end - start}v1h${start - end}z`);
    pieces.set(shadeAt(start), segments);
    start = end;
  }
  const cells = [...pieces].filter(([shade]) => shade !== 0).map(([shade, segments]) =>
    `<path fill="${shade < 0 ? "#2f6fde" : "#c2293f"}" fill-opacity="${Math.abs(shade) / shades}" d="${
      segments.join("")
    }"/>`
  );
  const scale = `scale(${((right - left) / side).toFixed(3)} ${((bottom - top) / side).toFixed(3)})`;
  const heat = `<g transform="translate(${left} ${top}) ${scale}">${cells.join("")}</g>`;
  return [...parts, heat].join("\n");
}

const { model, loss } = await trained();
const shown = 5;
const test = waves(shown, 3);
const states = scope(() => model.weights(test));
const ofWaves = scope(() =>
  stack(Array.from({ length: shown }, (_, i) => timeCorrelation(states.slice(0, i, i + 1))))
);
const correlations = await ofWaves.data();
const descent = gradientDescentPath(model, test.at(0, 0), { steps: 300, learningRate: 0.02 });
const plane = principalComponents(concatenate([states.flatten(0, 1), descent]));
const [path, descentPath] = [await plane.project(states).data(), await plane.project(descent).data()];
const variance = await plane.shares.data();
const readout = await readoutMatrix(model, states.at(0, 0)).squeeze(2).data();
const identity = tensor(
  Float32Array.from({ length: model.stateSize ** 2 }, (_, i) => +(i % (model.stateSize + 1) === 0)),
);
const change = await model.transitionMatrix().flatten().sub(identity).data();
const weights = model.stateSize;
const near = correlations.filter((value) => Math.abs(value) > 0.9).length / correlations.length;
console.log(`loss ${loss}, |correlation| above 0.9: ${(100 * near).toFixed(0)} % of the weights`);
console.log(`shares of the variance: ${[...variance].map((share) => share.toFixed(3)).join(", ")}`);
const panels = [
  drawCorrelations(correlations, shown, weights),
  drawPaths(path, descentPath, shown, variance),
  drawMatrix(readout, "Read-out matrix of one wave", "time tau'", "step t of the state"),
  drawMatrix(change, "A, less the identity", "weight", "weight"),
];
const style = `text { font: 10px sans-serif; fill: #444 } .title { font-size: 12px; font-weight: bold }
.grid { stroke: #ddd } .line { stroke-width: 1.5; fill: none }`;
await Deno.writeTextFile(
  "docs/figures/warp_states.svg",
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * panel.width} ${2 * panel.height}" width="${
    2 * panel.width
  }">
<style>${style}</style>
<rect width="100%" height="100%" fill="white"/>
${
    panels.map((drawn, i) =>
      `<g transform="translate(${(i % 2) * panel.width} ${
        Math.floor(i / 2) * panel.height
      })">\n${drawn}\n</g>`
    ).join("\n")
  }
</svg>
`,
);
