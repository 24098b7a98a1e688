/**
 * Draws `overview.svg`: the irregular observations of one series, the path through them, the hidden state of a
 * Neural CDE and its prediction. `deno run --allow-write=docs/figures docs/figures/overview.ts` in a checkout.
 */
import { accuracy, Adam, addTime, bernoulli, crossEntropy, CubicSpline, eye, jit, key } from "../../mod.ts";
import { LinearInterpolation, naturalCubicCoeffs, NeuralCDE, stack, type Tensor, tensor } from "../../mod.ts";
import { uniform, valueAndGrad } from "../../mod.ts";
import { chartFile } from "../../src/charts/file.ts";

const times = [0, 0.3, 0.5, 1.2, 1.5, 1.9, 2.1, 2.9, 3.6, 3.7, 4.3, 5];
const [count, trained, shown] = [1024, 512, 1001];

/** Motions around a circle in one of two directions, observed with noise; a third of the values is missing. */
const left = bernoulli(key(0), 0.5, [count]);
const turned = left.expandDims(1).where(tensor(times), tensor(times).neg());
const angles = uniform(key(1), [count, 1], { high: 2 * Math.PI }).add(turned);
const noise = uniform(key(4), [count, times.length, 2], { low: -0.15, high: 0.15 });
const points = stack([angles.cos(), angles.sin()], -1).add(noise);
const x = bernoulli(key(2), 0.67, points.shape).where(points, NaN);
const coeffs = naturalCubicCoeffs(addTime(x, times), times);
const pathOf = (from: number, to: number) => CubicSpline(coeffs.slice(0, from, to), times);

const sizes = { inputChannels: 3, hiddenChannels: 6, width: 16, depth: 1, key: key(3) };
const model = NeuralCDE({ ...sizes, outputChannels: 2 });
const optimizer = Adam(model.parameters, { learningRate: 0.02 });
const [X, labels] = [pathOf(0, trained), left.cast("int32")];
const loss = () => crossEntropy(model(X), labels.slice(0, 0, trained));
const step = jit(() => optimizer.step(valueAndGrad(loss)(model.parameters)[1]));
for (let i = 0; i < 150; i++) step();
const measured = await accuracy(model(pathOf(trained, count)), labels.slice(0, trained)).item();
console.log(`held-out accuracy ${measured.toFixed(2)}`);

/** The path of the shown series at dense times, as straight pieces. */
const dense = Array.from({ length: 301 }, (_, i) => 5 * i / 300);
const path = pathOf(shown, shown + 1).evaluate(dense); // (1, dense, channels)
const fine = LinearInterpolation(path, dense);
/** A model whose output is the hidden state. */
const states = NeuralCDE({ ...sizes, outputChannels: sizes.hiddenChannels });
for (const part of ["initial", "vectorField"] as const) copy(states.parameters[part], model.parameters[part]);
const { weight, bias } = states.parameters.readout;
weight.assign(eye(sizes.hiddenChannels));
bias!.assign(bias!.zerosLike());

function copy(to: object, from: object): void {
  for (const [name, value] of Object.entries(to)) {
    const other = (from as Record<string, Tensor>)[name];
    if ("assign" in value) value.assign(other);
    else copy(value, other);
  }
}

const hidden = await columns(states(fine, { states: "all" }).select(0, 0));
const [probability] = await columns(model(fine, { states: "all" }).select(0, 0).softmax(-1).slice(-1, 1));
const [, ...curves] = await columns(path.select(0, 0));
const observed = await columns(x.select(0, shown));
const isLeft = await left.select(0, shown).item() as number | boolean;

/** Columns of a matrix. */
async function columns(matrix: Tensor): Promise<number[][]> {
  const [rows, width] = matrix.shape;
  const data = await matrix.data();
  return Array.from(
    { length: width },
    (_, c) => Array.from({ length: rows }, (_, r) => Number(data[r * width + c])),
  );
}

const time = { title: "time", isWhole: true };
const names = ["x", "y"];
await Deno.writeTextFile(
  new URL("overview.svg", import.meta.url),
  chartFile([
    {
      title: "Irregular observations and their path",
      panels: [{
        x: time,
        y: { title: "position" },
        marks: names.flatMap((name, c) => [
          { kind: "points" as const, name, isHollow: true, x: times, y: observed[c] },
          { kind: "line" as const, name, x: dense, y: curves[c] },
        ]),
      }],
    },
    {
      title: "Hidden state, driven by the path",
      panels: [{
        x: time,
        y: { title: "hidden state" },
        marks: hidden.map((y, c) => ({ kind: "line", name: `z${c + 1}`, x: dense, y })),
      }],
    },
    {
      title: "Prediction",
      panels: [{
        x: time,
        y: { title: "probability of a left turn", isPercent: true, includes: [0, 1] },
        marks: [
          { kind: "line", name: "prediction", x: dense, y: probability },
          { kind: "line", name: "truth", style: "dashed", x: [0, 5], y: [Number(isLeft), Number(isLeft)] },
        ],
      }],
    },
  ]),
);
