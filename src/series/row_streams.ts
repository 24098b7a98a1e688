import type { TypedArray } from "../device/dtype.ts";
import { sizeOf } from "../device/shape.ts";
import { jit } from "../compile/jit.ts";
import { isNumber, isRecord } from "../files/json.ts";
import { rowOf, type SeriesStreams, stackedRows, type StreamedOutputs } from "../models/series_streams.ts";
import type { StateSpaceModel } from "../models/diagonal/stack.ts";
import { withoutRecording } from "../tensor/primitive.ts";
import { scope } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { leaves, withLeaves } from "../tensor/tree.ts";
import { DataError } from "../files/data_error.ts";

/**
 * State of a streamed series: the time of its last row, and the concatenated tensors of the model's state.
 */
interface RowState {
  readonly time: number;
  readonly state: readonly number[];
}

/** Number of series per batch. */
const together = 16;

/**
 * Makes streams of a model that reads series row by row.
 *
 * @param inputsOf Inputs of the model for a row. The first value of a row is its time; `since` is the time
 * since the previous row, 0 for the first row.
 */
export function rowStreams(
  model: Pick<StateSpaceModel, "start" | "step">,
  inputsOf: (row: readonly number[], since: number) => readonly number[],
): SeriesStreams<RowState> {
  const advance = jit((rows: Tensor, state: readonly Tensor[]) => {
    const [next, output] = model.step(rows, withLeaves(model.start(together), state));
    return { output, state: leaves(next) };
  });
  let shapes: readonly (readonly number[])[] | undefined;
  const stateShapes = () => shapes ??= scope(() => leaves(model.start(1)).map((x) => x.shape.slice(1)));

  const pushSome = async (
    rows: readonly (readonly number[])[],
    states: readonly (RowState | undefined)[],
  ) => {
    const inputs = rows.map((row, i) => inputsOf(row, row[0] - (states[i]?.time ?? row[0])));
    const results = withoutRecording(() =>
      scope(() => {
        let offset = 0;
        const state = stateShapes().map((shape) => {
          const [from, to] = [offset, offset += sizeOf(shape)];
          return stackedRows(states.map((own) => own?.state.slice(from, to) ?? []), together, shape);
        });
        return advance(stackedRows(inputs, together, [inputs[0].length]), state);
      })
    );
    const [output, ...state] = await Promise.all([results.output, ...results.state].map((x) => x.data()));
    const numbersOf = (values: TypedArray, i: number) => Array.from(rowOf(values, i, together));
    return rows.map((row, i) => ({
      outputs: numbersOf(output, i),
      state: { time: row[0], state: state.flatMap((values) => numbersOf(values, i)) },
    }));
  };

  return {
    async push(rows, states) {
      const found: StreamedOutputs<RowState>[] = [];
      for (let start = 0; start < rows.length; start += together) {
        const end = start + together;
        found.push(
          ...await pushSome(rows.slice(start, end), states.slice(start, end)),
        );
      }
      return found;
    },
    check(known) {
      const size = stateShapes().reduce((sum, shape) => sum + sizeOf(shape), 0);
      const isKnown = isRecord(known) && isNumber(known.time) && Array.isArray(known.state) &&
        known.state.length === size && known.state.every(isNumber);
      if (isKnown) return;
      throw new DataError(
        `the saved state is of another model, or damaged: expected a time, and a state of ${size} numbers`,
      );
    },
  };
}
