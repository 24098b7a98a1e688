/** Streams of many series at once, updated as observations arrive. */
import { describe } from "../device/describe.ts";
import type { DType, TypedArray } from "../device/dtype.ts";
import { type Shape, sizeOf } from "../device/shape.ts";
import { DataError } from "../device/errors.ts";
import { jit } from "../compile/jit/jit.ts";
import { isCount, isNumber, isRecord } from "../files/json.ts";
import { parameter } from "../nn/layer.ts";
import { tensor } from "../tensor/creation.ts";
import { withoutRecording } from "../tensor/primitive.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type StreamableModel, streamStep, type StreamTensors } from "./stream.ts";

/** State of a streamed series, as plain JSON. */
export interface SeriesStreamState {
  /** The latest one or two observations, oldest first. */
  readonly observations: readonly (readonly number[])[];
  /** The model's state. */
  readonly state: readonly number[];
}

/** Outputs of a model for a series after an observation, and its new state. */
export interface StreamedOutputs<State = unknown> {
  /** A number for each output channel. */
  readonly outputs: number[];
  /** The state after the observation, to pass to the next call. */
  readonly state: State;
}

/**
 * Streams of many series. Observations of a series are one unit of time apart; each call may update a subset
 * of the series.
 */
export interface SeriesStreams<State = unknown> {
  /**
   * Reads one observation of each of some series.
   *
   * @param rows An observation of each series: one value for each channel, no missing values.
   * @param states State of each series, or `undefined` before its first observation.
   * @returns The outputs for each series, and its new state.
   * @throws {RangeError} If an observation has the wrong number of values, or a missing value.
   */
  push(
    rows: readonly (readonly number[])[],
    states: readonly (State | undefined)[],
  ): Promise<StreamedOutputs<State>[]>;
  /** Throws unless a value is the state of a series of this model. @throws {DataError} */
  check(state: unknown): void;
}

/** A model that reads one observation of a batch of series. */
interface StreamedStep {
  readonly name: string;
  readonly inputChannels: number;
  readonly dtype: DType;
  /** Reads rows `(batch, inputChannels)`. `previous` is the state before, undefined before the first row. */
  step(x: Tensor, previous?: StreamTensors): StreamTensors & { prediction: Tensor };
}

/**
 * Streams of many series along Hermite cubic splines, with the current parameters of the model.
 *
 * @example
 * ```ts
 * import { key, NeuralCDE, seriesStreams } from "@weft/weft";
 *
 * const sizes = { inputChannels: 2, hiddenChannels: 8, outputChannels: 1, width: 16, depth: 1 };
 * const streams = seriesStreams(NeuralCDE({ ...sizes, key: key(0) }));
 * const [a, b] = await streams.push([[0, 0.5], [0, -1]], [undefined, undefined]); // two series
 * const [next] = await streams.push([[1, 0.7]], [a.state]); // the first series alone
 * console.log(b.outputs, next.outputs);
 * ```
 *
 * @param model A model that has the method `stream`.
 * @throws {TypeError} For other models.
 */
export function seriesStreams(model: StreamableModel): SeriesStreams<SeriesStreamState> {
  const streamed = model?.streamed;
  if (typeof streamed !== "object") {
    throw new TypeError(
      `seriesStreams: got ${
        describe(model)
      }, expected a model that has the method stream: a Neural CDE, or fast weights along ` +
        "a control",
    );
  }
  const { name, inputChannels, dtype } = streamed;
  return stepStreams({
    ...{ name, inputChannels, dtype },
    step(x, previous) {
      const times = Array.from({ length: 1 + (previous?.observations.length ?? 0) }, (_, t) => t);
      return streamStep(streamed, "hermite", 0, times, x, previous);
    },
  });
}

/**
 * Batch size of all calls; missing series are padding. Kernels for other sizes add in another order, so that the
 * result for a series would depend on the number of series that arrive at the same time.
 */
const batch = 16;

/** Streams of many series by a function for one observation, which `jit` traces once. */
export function stepStreams(steps: StreamedStep): SeriesStreams<SeriesStreamState> {
  const { name, inputChannels, dtype } = steps;
  const read = (x: Tensor, previous: StreamTensors | null) => steps.step(x, previous ?? undefined);
  const step = jit(read);
  /**
   * Result tensors by the number of known observations. They are reused, since garbage
   * collection of new ones would be expensive.
   */
  const results = new Map<number, Tensor[]>();
  let shape: Shape | undefined;
  /** Shape of the state of a series. */
  const stateShape = () =>
    shape ??= withoutRecording(() =>
      tidy(() => {
        const x = tensor(new Float64Array(batch * inputChannels), {
          shape: [batch, inputChannels],
          dtype,
        });
        return read(x, null).state;
      })
    ).shape.slice(1);

  /** Advances series with the same number of known observations. */
  const advance = async (
    rows: readonly (readonly number[])[],
    previous: readonly (SeriesStreamState | undefined)[],
  ): Promise<StreamedOutputs<SeriesStreamState>[]> => {
    const stacked = (parts: readonly ArrayLike<number>[], shape: Shape) =>
      stackedRows(parts, batch, shape, dtype);
    const kept = previous[0]?.observations.length ?? 0;
    withoutRecording(() =>
      tidy(() => {
        const { prediction, state, observations } = step(
          stacked(rows, [inputChannels]),
          kept === 0 ? null : {
            observations: Array.from(
              { length: kept },
              (_, i) => stacked(previous.map((one) => one!.observations[i]), [inputChannels]),
            ),
            state: stacked(previous.map((one) => one!.state), stateShape()),
          },
        );
        const outputs = [prediction, state, ...observations];
        const stored = results.get(kept);
        if (stored) stored.forEach((target, i) => target.assign(outputs[i]));
        else results.set(kept, outputs.map((x) => parameter(x)));
      })
    );
    const [prediction, state, ...observations] = await Promise.all(
      results.get(kept)!.map(async (x) => await x.data()),
    );
    return rows.map((_, i) => ({
      outputs: numbersOf(prediction, i, batch),
      state: {
        observations: observations.map((values) => numbersOf(values, i, batch)),
        state: numbersOf(state, i, batch),
      },
    }));
  };

  return {
    async push(rows, states) {
      const wrong = rows.find((row) => row.length !== inputChannels || !row.every(isNumber));
      if (wrong) {
        throw new RangeError(`${name}: an observation [${wrong}], expected ${inputChannels} finite numbers`);
      }
      const results: StreamedOutputs<SeriesStreamState>[] = [];
      const groups = Map.groupBy(rows.keys(), (i) => states[i]?.observations.length ?? 0);
      for (const group of groups.values()) {
        for (let start = 0; start < group.length; start += batch) {
          const positions = group.slice(start, start + batch);
          const outputs = await advance(positions.map((i) => rows[i]), positions.map((i) => states[i]));
          positions.forEach((position, i) => results[position] = outputs[i]);
        }
      }
      return results;
    },
    check(saved) {
      const size = sizeOf(stateShape());
      const isRow = (row: unknown, length: number) =>
        Array.isArray(row) && row.length === length && row.every(isNumber);
      const isValid = isRecord(saved) && isRow(saved.state, size) && Array.isArray(saved.observations) &&
        isCount(saved.observations.length, 1) && saved.observations.length <= 2 &&
        saved.observations.every((row) => isRow(row, inputChannels));
      if (isValid) return;
      throw new DataError(
        "invalid-state",
        `${name}: the saved state is of another model, or damaged: expected one or two observations of ${inputChannels} ` +
          `channels, and a state of ${size} numbers`,
      );
    },
  };
}

/** Values of some series as a tensor `(batch, ...shape)`. The last series is repeated to fill the batch. */
function stackedRows(
  parts: readonly ArrayLike<number>[],
  batch: number,
  shape: Shape,
  dtype: DType,
): Tensor {
  const size = sizeOf(shape);
  const values = new (dtype === "float64" ? Float64Array : Float32Array)(batch * size);
  for (let i = 0; i < batch; i++) values.set(parts[Math.min(i, parts.length - 1)], i * size);
  return tensor(values, { shape: [batch, ...shape], dtype });
}

/** The values of one series of a batch. */
export function rowOf(values: TypedArray, i: number, batch: number): TypedArray {
  const size = values.length / batch;
  return values.slice(i * size, (i + 1) * size);
}

/** The values of one series of a batch, as plain JSON. `Array.from` of a typed array takes fifty times as long. */
export function numbersOf(values: TypedArray, i: number, batch: number): number[] {
  const size = values.length / batch;
  const numbers = new Array<number>(size);
  for (let k = 0; k < size; k++) numbers[k] = values[i * size + k];
  return numbers;
}
