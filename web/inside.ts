/** The inside of a model along a series: its control path, its state, and its predictions at each time. */
import type { Series } from "../src/data/series.ts";
import { ModelStream, type StreamedModel } from "../src/models/stream.ts";
import type { WARPModel } from "../src/models/warp/warp.ts";
import type { ParameterTree } from "../src/nn/layer.ts";
import { CubicSpline } from "../src/paths/cubic_spline.ts";
import { withChosen } from "../src/series/choose/auto.ts";
import { linearOutputs } from "../src/series/math/screened_ridge.ts";
import type { DataRecord } from "../src/series/record/data_record.ts";
import { wholeSeriesKinds } from "../src/series/models/model.ts";
import { seriesModels } from "../src/series/models/series_models.ts";
import { ownNetwork } from "../src/series/run/own_series.ts";
import { probabilitiesOf } from "../src/series/record/predictions.ts";
import { RunningSummary } from "../src/series/record/running_summary.ts";
import { scaledSeries, unscaledValue } from "../src/series/record/scaled_values.ts";
import { seriesNetwork } from "../src/series/models/series_network.ts";
import { openRows } from "../src/series/models/series_reading.ts";
import type { SeriesSettings } from "../src/series/record/settings.ts";
import { key } from "../src/tensor/random.ts";
import { tidy } from "../src/tensor/scope.ts";
import type { Tensor } from "../src/tensor/tensor.ts";
import { treeFlatten } from "../src/tensor/tree.ts";
import type { Matrix, View } from "./messages.ts";

/** Times of the drawing between two observations. */
const perGap = 3;

/** States of a model along a series. */
type Moments = Pick<View, "kind" | "matrices" | "states"> & {
  /** The control at each time: the scaled time, then the scaled channels. */
  readonly controls: readonly ArrayLike<number>[];
  /** The outputs at each time, before the softmax. */
  readonly outputs: readonly ArrayLike<number>[];
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
 * @returns Undefined for an ensemble, for condensed series, and for a model without access to its states.
 */
export async function lookInside(made: Made, series: Series, temperature: number): Promise<View | undefined> {
  const { record, record: { channels, time, classes, condensing } } = made;
  const settings = withChosen(made.config, record.training);
  const models = wholeSeriesKinds(seriesModels);
  const network = seriesNetwork({ ...ownNetwork, models, record, settings, key: key(0) }, classes.length);
  const [{ streamed, warp } = {}, ...others] = network.members;
  if (condensing || others.length > 0 || !(streamed || warp)) return undefined;
  copyParameters(network.parameters, made.parameters);
  const { coeffs } = network.inputs([series]);
  const rows = Math.max(2, series.times.length);
  const { controls, outputs, ...state } = streamed
    ? await pathMoments(streamed, coeffs, rows)
    : await rowMoments(warp!, coeffs, rows, [
      ...[1, ...new Array<number>(settings.depth ?? ownNetwork.depth).fill(settings.hidden)],
      classes.length,
    ]);
  const start = time.origin === "zero" ? 0 : series.times[0];
  const at = controls.map((row) => start + row[0] / time.scale);
  const probabilities = withLinearModel(outputs, at, series, record)
    .map((scores) => probabilitiesOf(scores, temperature));
  return {
    ...state,
    name: series.name,
    label: classes[series.label],
    timeKind: time.kind,
    times: [...series.times],
    observed: channels.map((_, c) =>
      Array.from(series.times, (_, t) => series.values[t * channels.length + c])
    ),
    at,
    path: channels.map((channel, c) => controls.map((row) => unscaledValue(row[c + 1], channel))),
    probabilities: classes.map((_, label) => probabilities.map((row) => row[label])),
  };
}

/** Adds the outputs of the linear model of the rows so far, as predictions do, if the network adds to such a model. */
function withLinearModel(
  outputs: readonly ArrayLike<number>[],
  at: readonly number[],
  series: Series,
  record: DataRecord,
): readonly ArrayLike<number>[] {
  const { linear, channels, training, time } = record;
  if (!linear) return outputs;
  const share = training?.found?.share ?? 1;
  const { times } = series;
  const { values } = scaledSeries(series, channels);
  const summary = new RunningSummary(channels.length);
  const rounding = 1e-6 / time.scale;
  let rows = 0;
  return outputs.map((output, i) => {
    for (; rows < times.length && (rows === 0 || times[rows] <= at[i] + rounding); rows++) {
      summary.add(times[rows], values, rows * channels.length);
    }
    const added = linearOutputs(linear, summary.features(record));
    return Array.from(output, (number, k) => share * number + added[k]);
  });
}

/** Follows a path by a stream of close observations, since models return their states only from streams. */
async function pathMoments(model: StreamedModel, coeffs: Tensor, rows: number): Promise<Moments> {
  const dense = Array.from({ length: perGap * (rows - 1) + 1 }, (_, i) => i / perGap);
  const controls = await rowsOf(tidy(() => CubicSpline(coeffs).evaluate(dense)));
  const stream = new ModelStream(model);
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

/** Reads the rows of a series by WARP. @param layers Features of the root network, from its input to its output. */
async function rowMoments(
  model: WARPModel,
  coeffs: Tensor,
  rows: number,
  layers: readonly number[],
): Promise<Moments> {
  const [x, theta, outputs] = tidy(() => {
    const { values } = openRows(coeffs.slice(1, 0, rows));
    const theta = model.weights(values.slice(-1, 1));
    // As at the end of a series, tau is 1.
    return [values, theta, model.decode(theta, 1)];
  });
  return {
    kind: "weights of the root network",
    controls: await rowsOf(x),
    states: (await rowsOf(theta)).map((row) => Float32Array.from(row)),
    outputs: await rowsOf(outputs),
    matrices: rootMatrices(layers, model.stateSize),
  };
}

/** Weight matrices `(outputs, inputs)` and biases of the layers of the root network. */
function rootMatrices(layers: readonly number[], size: number): Matrix[] {
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
