/** The inside of a model along a series: its control path, its state, and its predictions at each time. */
import type { Series } from "../src/data/series.ts";
import { FastWeightCDE } from "../src/models/fast_weight/cde.ts";
import { deltaRule } from "../src/models/fast_weight/rules.ts";
import { NeuralCDE } from "../src/models/neural_cde.ts";
import { WARP } from "../src/models/warp/warp.ts";
import type { ParameterTree } from "../src/nn/layer.ts";
import { CubicSpline } from "../src/paths/cubic_spline.ts";
import type { DataRecord } from "../src/series/data_record.ts";
import { slopeScaleOf } from "../src/series/pace.ts";
import { probabilitiesOf } from "../src/series/predictions.ts";
import { seriesNetwork } from "../src/series/series_network.ts";
import { openRows } from "../src/series/series_reading.ts";
import type { SeriesSettings } from "../src/series/settings.ts";
import { key } from "../src/tensor/random.ts";
import { tidy } from "../src/tensor/scope.ts";
import type { Tensor } from "../src/tensor/tensor.ts";
import { treeFlatten } from "../src/tensor/tree.ts";
import type { Matrix, View } from "./messages.ts";

/** Times of the drawing between two observations. */
const perGap = 3;

/** Defaults of `own-series`. */
const defaults = { width: 64, depth: 1, method: "midpoint" } as const;

/** A state of a model and its outputs, before the softmax. */
type Moment = Pick<View, "kind" | "matrices"> & {
  readonly states: Float32Array[];
  readonly outputs: ArrayLike<number>[];
};

/** Parts of a run that define its model. */
interface Made {
  readonly config: SeriesSettings;
  readonly record: DataRecord;
  readonly parameters: ParameterTree;
}

/**
 * Looks inside a model along a series.
 *
 * @param made Configuration, record and parameters of the run. The parameters are copied.
 * @param temperature Softmax temperature of the predictions.
 * @returns Undefined for a model other than a Neural CDE, fast weights by the delta rule, or WARP.
 */
export async function lookInside(made: Made, series: Series, temperature: number): Promise<View | undefined> {
  const { config, record: { channels, time, classes } } = made;
  const { model = "neural-cde" } = config;
  const momentsOf = model === "warp" ? rowMoments : makers[model] ? pathMoments : undefined;
  if (!momentsOf || made.record.condensing || (made.record.training?.ensemble ?? 1) > 1) return undefined;
  const network = seriesNetwork(
    { ...defaults, record: made.record, settings: config, key: key(0) },
    classes.length,
  );
  const { coeffs } = network.inputs([series]);
  const rows = Math.max(2, series.times.length);
  const { controls, ...moments } = await momentsOf(made, coeffs, rows);
  const probabilities = moments.outputs.map((scores) => probabilitiesOf(scores, temperature));
  const start = time.origin === "zero" ? 0 : series.times[0];
  return {
    name: series.name,
    label: classes[series.label],
    timeKind: time.kind,
    times: [...series.times],
    observed: channels.map((_, c) =>
      Array.from(series.times, (_, t) => series.values[t * channels.length + c])
    ),
    at: controls.map((row) => start + row[0] / time.scale),
    path: channels.map(({ mean, standardDeviation }, c) =>
      controls.map((row) => mean + standardDeviation * row[c + 1])
    ),
    kind: moments.kind,
    matrices: moments.matrices,
    states: moments.states,
    probabilities: classes.map((_, label) => probabilities.map((row) => row[label])),
  };
}

/** Moments of a model, and the control at each: the scaled time, then the scaled channels. */
type Moments = Moment & { readonly controls: readonly ArrayLike<number>[] };

/** Sizes of a model along a path. */
function sizesOf({ config, record }: Made) {
  const { hidden, depth = defaults.depth, width = defaults.width, heads = 4, feedForward } = config;
  const { method = defaults.method, stepSize } = config;
  const solver = { method, stepSize, slopeScale: slopeScaleOf(record.pace, "changes") };
  const inputs = {
    inputChannels: 1 + record.channels.length,
    outputChannels: record.classes.length,
    key: key(0),
  };
  return { hidden, depth, width, heads, feedForward, layers: depth, inputs, solver };
}

/** Models along a path by name, made with the options of `series_models.ts`. */
const makers: Readonly<Record<string, (made: Made) => ReturnType<typeof NeuralCDE | typeof FastWeightCDE>>> =
  {
    "neural-cde"(made) {
      const { inputs, solver, hidden, width, depth } = sizesOf(made);
      return NeuralCDE({ ...inputs, ...solver, hiddenChannels: hidden, width, depth });
    },
    "delta-cde"(made) {
      const { inputs, solver, hidden, heads, feedForward, layers } = sizesOf(made);
      return FastWeightCDE({
        ...{ ...inputs, ...solver, modelDim: hidden, heads, feedForward, layers },
        ...{ rule: deltaRule(), keys: "derivative" },
      });
    },
  };

/** Follows a path by a stream of close observations, since models return their states only from streams. */
async function pathMoments(made: Made, coeffs: Tensor, rows: number): Promise<Moments> {
  const model = makers[made.config.model ?? "neural-cde"](made);
  copyParameters(model.parameters as ParameterTree, made.parameters);
  const dense = Array.from({ length: perGap * (rows - 1) + 1 }, (_, i) => i / perGap);
  const controls = await rowsOf(tidy(() => CubicSpline(coeffs).evaluate(dense)));
  const stream = model.stream();
  const [states, outputs]: [Float32Array[], ArrayLike<number>[]] = [[], []];
  let shape: readonly number[] = [];
  for (const [i, at] of dense.entries()) {
    const output = stream.push(at, Array.from(controls[i]));
    outputs.push(await output.data());
    const { state } = await stream.save();
    shape = state.shape;
    states.push(Float32Array.from(state.values));
  }
  if (shape.length < 4) return { kind: "hidden state", controls, states, outputs, matrices: [] };
  // (batch, heads, values, keys), or with layers before the heads.
  const [rowCount, columns] = shape.slice(-2);
  const count = states[0].length / (rowCount * columns);
  const matrices = Array.from({ length: count }, (_, i): Matrix => ({
    name: `fast weights${count > 1 ? `, head ${i + 1}` : ""}`,
    start: i * rowCount * columns,
    rows: rowCount,
    columns,
  }));
  return { kind: "fast weights", controls, states, outputs, matrices };
}

/** Reads the rows of a series by WARP. */
async function rowMoments(made: Made, coeffs: Tensor, rows: number): Promise<Moments> {
  const { inputs, hidden: width, depth } = sizesOf(made);
  const root = { width, depth, activation: "relu" } as const;
  const clipWeights = made.config.clipWeights || undefined;
  const model = WARP({
    ...{
      ...inputs,
      inputChannels: inputs.inputChannels - 1,
      output: "logits",
      transition: "dense",
      root,
      clipWeights,
    },
  });
  copyParameters(model.parameters as ParameterTree, made.parameters);
  const [x, theta, outputs] = tidy(() => {
    const { values } = openRows(coeffs.slice(1, 0, rows));
    const theta = model.weights(values.slice(-1, 1));
    // As at the end of a series, tau is 1.
    return [values, theta, model.decode(theta, 1)];
  });
  const states = (await rowsOf(theta)).map((row) => Float32Array.from(row));
  return {
    ...{
      kind: "weights of the root network",
      controls: await rowsOf(x),
      states,
      outputs: await rowsOf(outputs),
    },
    matrices: rootMatrices(width, depth, inputs.outputChannels, states[0].length),
  };
}

/** Matrices of the root network, each with its bias as the last column: `(outputs, inputs + 1)`. */
function rootMatrices(width: number, depth: number, outputs: number, size: number): Matrix[] {
  const layers = [1, ...new Array<number>(depth).fill(width), outputs];
  const matrices: Matrix[] = [];
  let start = 0;
  for (const [i, rows] of layers.slice(1).entries()) {
    matrices.push({ name: `layer ${i + 1}, weights`, start, rows, columns: layers[i] });
    start += rows * layers[i];
    matrices.push({ name: `layer ${i + 1}, bias`, start, rows, columns: 1 });
    start += rows;
  }
  if (start !== size) throw new Error(`the root network has ${size} weights, expected ${start}`);
  return matrices;
}

/** Copies parameters by name. */
function copyParameters(to: ParameterTree, from: ParameterTree): void {
  const values = new Map(treeFlatten(from));
  tidy(() => {
    for (const [name, value] of treeFlatten(to)) value.assign(values.get(name)!);
  });
}

/** Rows of a tensor `(1, rows, columns)`. */
async function rowsOf(x: Tensor): Promise<ArrayLike<number>[]> {
  const [, rows, columns] = x.shape;
  const data = await x.data();
  return Array.from(
    { length: rows },
    (_, i) => Array.from(data.slice(i * columns, (i + 1) * columns), Number),
  );
}
