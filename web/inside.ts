/** The inside of a model along a series: its control path, its state, its predictions, and its decisions in the plane. */
import type { Series } from "../src/data/series.ts";
import { type StreamedModel, streamStep } from "../src/models/stream.ts";
import type { WARPModel } from "../src/models/warp/warp.ts";
import type { ParameterTree } from "../src/nn/layer.ts";
import { CubicSpline } from "../src/paths/cubic_spline.ts";
import { withChosen } from "../src/series/choose/auto.ts";
import { linearOutputs } from "../src/series/math/linear_model.ts";
import type { DataRecord } from "../src/series/record/data_record.ts";
import type { ClassPrediction } from "../src/series/record/predictions.ts";
import type { Predictor } from "../src/series/run/predictor.ts";
import { wholeSeriesKinds } from "../src/series/models/model.ts";
import { seriesModels } from "../src/series/models/series_models.ts";
import { ownNetwork } from "../src/series/run/own_series.ts";
import { probabilitiesOf } from "../src/series/math/temperature.ts";
import { RunningSummary } from "../src/series/record/running_summary.ts";
import { scaledSeries, scaledValue, unscaledValue } from "../src/series/record/scaled_values.ts";
import { seriesNetwork } from "../src/series/models/series_network.ts";
import { openRows } from "../src/series/models/series_reading.ts";
import type { SeriesSettings } from "../src/series/record/settings.ts";
import { withoutRecording } from "../src/tensor/primitive.ts";
import { concatenate } from "../src/tensor/functions.ts";
import { tensor } from "../src/tensor/creation.ts";
import { key } from "../src/tensor/random.ts";
import { tidy } from "../src/tensor/scope.ts";
import type { Tensor } from "../src/tensor/tensor.ts";
import { treeFlatten } from "../src/tensor/tree.ts";
import type { Channel, Matrix, Plane, View } from "./messages.ts";

/** Points of the drawn control path between two observations. */
const perGap = 4;
/** Number of points of a side of the plane. */
const side = 17;

/** States of a model along a series, as tensors. */
type Moments = {
  /** The states at each observation `(length, ...)`. */
  readonly states: Tensor;
  /** The outputs at each observation `(length, classes)`, before the softmax. */
  readonly outputs: Tensor;
  /** The scaled control at each observation `(length, channels)`: the time, then the channels. */
  readonly controls: Tensor;
  /** The scaled control also between observations `(points, channels)`, for the drawing. */
  readonly curve: Tensor;
};

/** How the states of a kind of model are found. */
interface Access {
  /** Follows a series. @param coeffs Input of the model for a batch of one series. */
  moments(coeffs: Tensor, length: number): Moments;
  /** The outputs `(points, classes)` if the row after a moment is one of these `(points, channels)`. */
  after(known: Moments, moment: number, rows: Tensor): Tensor;
  /** Name of the state. */
  kindOf(states: Tensor): string;
  matrices(states: Tensor): Matrix[];
}

/** A model whose states can be seen. */
export interface Viewer {
  /** Views the model along a series. @param temperature Softmax temperature of the predictions. */
  view(series: Series, parameters: ParameterTree, temperature: number): Promise<View>;
  /** Predictions for each place of the observation after a moment of the last view, if there are two channels. */
  plane(moment: number, gap: number, ranges: readonly Channel[]): Promise<Plane | undefined>;
}

/**
 * Makes the viewer of a run. The code of its model must be loaded, as after `prepare` or `open` of the experiment.
 *
 * @returns Undefined for an ensemble, for condensed series, and for a model without access to its states.
 */
export function makeViewer(config: SeriesSettings, record: DataRecord): Viewer | undefined {
  const { channels, time, classes, condensing } = record;
  const settings = withChosen(config, record.training);
  const models = wholeSeriesKinds(seriesModels);
  const network = seriesNetwork({ ...ownNetwork, models, record, settings, key: key(0) }, classes.length);
  const [{ streamed, warp } = {}, ...others] = network.members;
  if (condensing || others.length > 0 || !(streamed || warp)) return undefined;
  const layers = [
    ...[1, ...new Array<number>(settings.depth ?? ownNetwork.depth).fill(settings.hidden)],
    classes.length,
  ];
  const access = streamed ? alongPath(streamed) : alongRows(warp!, layers, record.length);
  let [known, origin, times, heat]: [Moments | undefined, number, readonly number[], number] = [
    undefined,
    0,
    [],
    1,
  ];
  return {
    async view(series, parameters, temperature) {
      copyParameters(network.parameters, parameters);
      const found = withoutRecording(() =>
        tidy(() => access.moments(network.inputs([series]).coeffs, series.times.length))
      );
      [known, heat, times] = [found, temperature, [...series.times]];
      origin = time.origin === "zero" ? 0 : times[0];
      const [states, outputs, curve] = await Promise.all(
        [found.states, found.outputs, found.curve].map(rowsOf),
      );
      const scores = withLinearModel(outputs, series, record);
      const probabilities = scores.map((row) => probabilitiesOf(row, temperature));
      return {
        name: series.name,
        label: classes[series.label],
        timeKind: time.kind,
        times,
        observed: channels.map((_, c) => times.map((_, t) => series.values[t * channels.length + c])),
        curveTimes: curve.map((row) => origin + row[0] / time.scale),
        curve: channels.map((channel, c) => curve.map((row) => unscaledValue(row[c + 1], channel))),
        kind: access.kindOf(found.states),
        states: states.map((row) => Float32Array.from(row)),
        matrices: access.matrices(found.states),
        probabilities: classes.map((_, label) => probabilities.map((row) => row[label])),
      };
    },
    async plane(moment, gap, ranges) {
      if (!known || channels.length !== 2) return undefined;
      const [{ values, at }, found] = [planeValues(ranges), known];
      const last = Math.min(moment, times.length - 1);
      const next = (times[last] + gap - origin) * time.scale;
      const rows = at.map((place) => [next, ...place.map((i, c) => scaledValue(values[c][i], channels[c]))]);
      const outputs = withoutRecording(() => tidy(() => access.after(found, last, tensor(rows))));
      return { side, probabilities: (await rowsOf(outputs)).map((row) => probabilitiesOf(row, heat)) };
    },
  };
}

/** Values of two channels on a grid, and the places of its points, row by row from the top. */
function planeValues(ranges: readonly Channel[]) {
  const values = ranges.map(({ low, high }) =>
    Array.from({ length: side }, (_, i) => low + (high - low) * i / (side - 1))
  );
  const at = Array.from({ length: side * side }, (_, i) => [i % side, side - 1 - Math.floor(i / side)]);
  return { values, at };
}

/** Adds the outputs of the linear model of the rows so far, as predictions do, if the network adds to such a model. */
function withLinearModel(
  outputs: readonly ArrayLike<number>[],
  { times, values, ...series }: Series,
  record: DataRecord,
): readonly ArrayLike<number>[] {
  const { linear, channels, training } = record;
  if (!linear) return outputs;
  const share = training?.found?.share ?? 1;
  const scaled = scaledSeries({ ...series, times, values }, channels);
  const summary = new RunningSummary(channels.length);
  return outputs.map((output, row) => {
    summary.add(times[row], scaled.values, row * channels.length);
    const added = linearOutputs(linear, summary.features(record));
    return Array.from(output, (number, k) => share * number + added[k]);
  });
}

/** States along the path through a series. */
function alongPath(model: StreamedModel): Access {
  const isMatrix = (states: Tensor) => states.rank > 3;
  return {
    moments(coeffs, length) {
      const X = CubicSpline(coeffs);
      const states = [model.start(X, 0)];
      for (let i = 1; i < length; i++) states.push(model.advance(X, states[i - 1], i - 1, i));
      const dense = Array.from({ length: perGap * (length - 1) + 1 }, (_, i) => i / perGap);
      return {
        states: concatenate(states, 0),
        outputs: concatenate(states.map((state, i) => model.predict(state, X, i)), 0),
        controls: X.evaluate([...states.keys()]).squeeze(0),
        curve: X.evaluate(dense).squeeze(0),
      };
    },
    after({ states, controls }, moment, rows) {
      const at = (x: Tensor, i: number) => {
        const row = x.slice(0, i, i + 1);
        return row.broadcastTo([rows.shape[0], ...row.shape.slice(1)]);
      };
      const times = moment === 0 ? [0] : [moment - 1, moment];
      const observations = times.map((i) => at(controls, i));
      const before = { observations, state: at(states, moment) };
      return streamStep(model, "hermite", 0, [...times, moment + 1], rows, before).prediction;
    },
    kindOf: (states) => isMatrix(states) ? "fast weights" : "hidden state",
    matrices(states) {
      if (!isMatrix(states)) return [];
      // (length, heads, values, keys), or with layers before the heads.
      const [rows, columns] = states.shape.slice(-2);
      const count = states.size / states.shape[0] / (rows * columns);
      return Array.from({ length: count }, (_, i): Matrix => ({
        name: `fast weights${count > 1 ? `, head ${i + 1}` : ""}`,
        start: i * rows * columns,
        rows,
        columns,
      }));
    },
  };
}

/**
 * States of WARP, which reads the rows of a series.
 *
 * @param layers Features of the root network, from its input to its output.
 * @param length Recorded number of rows.
 */
function alongRows(model: WARPModel, layers: readonly number[], length: number): Access {
  /** Time of the root network at a row, as if the series ended there: models pad shorter series to the recorded length. */
  const tau = (row: number) => row / Math.max(1, row, length - 1);
  /** The states along rows, whose first channel is the time, which WARP does not read. */
  const weights = (rows: Tensor) => model.weights(rows.slice(-1, 1));
  return {
    moments(coeffs, rows) {
      const { values } = openRows(coeffs.slice(1, 0, rows));
      const states = weights(values).squeeze(0);
      const controls = values.squeeze(0);
      const times = tensor(Array.from({ length: rows }, (_, row) => [tau(row)]));
      const outputs = model.decode(states, times);
      return { states, outputs, controls, curve: controls };
    },
    after({ controls }, moment, rows) {
      const [count, channels] = rows.shape;
      const before = controls.slice(0, 0, moment + 1).expandDims(0);
      const all = [before.broadcastTo([count, moment + 1, channels]), rows.expandDims(1)];
      return model.decode(weights(concatenate(all, 1)).select(1, -1), tau(moment + 1));
    },
    kindOf: () => "weights of the root network",
    matrices: () => rootMatrices(layers, model.stateSize),
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

/** Rows of a tensor `(rows, ...)`. */
async function rowsOf(x: Tensor): Promise<ArrayLike<number>[]> {
  const data = await x.data();
  const size = data.length / x.shape[0];
  return Array.from(
    { length: x.shape[0] },
    (_, i) => Array.from(data.slice(i * size, (i + 1) * size), Number),
  );
}

/** View of a model whose states cannot be seen: the predictions of the observations so far. */
export async function plainView(
  series: Series,
  { channels, classes, time }: DataRecord,
  predictor: Predictor<ClassPrediction>,
): Promise<View> {
  const { times, values } = series;
  const prefixes = Array.from(times, (_, i) => ({
    ...{ name: `${i}`, label: -1 },
    times: times.slice(0, i + 1),
    values: values.slice(0, (i + 1) * channels.length),
  }));
  const names = channels.map(({ name }) => name);
  const found = await predictor.predict({
    ...{ name: "prefixes", channels: names, times: time.kind, classes, series: prefixes },
  });
  return {
    ...{ name: series.name, label: classes[series.label], timeKind: time.kind, times: [...times] },
    observed: channels.map((_, c) => Array.from(times, (_, t) => values[t * channels.length + c])),
    ...{ curveTimes: [], curve: [], kind: "", states: [], matrices: [] },
    probabilities: classes.map((name) => found.map(({ probabilities }) => probabilities[name])),
  };
}
