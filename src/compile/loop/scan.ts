import { checkFunction } from "../../tensor/checks.ts";
import { checkOptions } from "../../device/options.ts";
import { formatShape, ShapeError } from "../../device/shape.ts";
import { zeros } from "../../tensor/creation.ts";
import { isRecording, withoutRecording } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Tree, treeLeaves, treeMap } from "../../tensor/tree.ts";
import { nextStateTensors } from "./next_state.ts";
import { Loop, type ScanOptions } from "./loop.ts";
import { type Closure, scanOptionNames } from "./loop_options.ts";
import { type Chunk, runChunks } from "./chunks.ts";
import { recomputeForGradient } from "./segments.ts";

export { type Chunk, chunksOf } from "./chunks.ts";
export type { ScanOptions } from "./loop.ts";

/** Selects the options of `scan` from the options of a solve. */
export function scanOptionsOf({ compile, checkpoint, memory, executor }: ScanOptions): ScanOptions {
  return { compile, checkpoint, memory, executor };
}

/**
 * Carries a state through the rows of sequences: `[state, output] = f(state, row)` for each, as JAX's `lax.scan`.
 *
 * @param f The body. It is called with the state and, for every tensor of `xs`, its row.
 * @param init The initial state: a tensor, or plain objects and arrays of tensors. Other values in the state do not change.
 * @param xs Sequences along their first axis, all of the same length. If the length is 0, the outputs have the shapes of a step
 * with rows of zeros.
 * @returns The last state, and the outputs of all steps stacked along a new first axis.
 * @throws {ShapeError} If there are no sequences, they differ in length, or the body changes the state's structure, shapes or
 * types.
 * @throws {Error} If the body of a compiled loop assigns to a tensor.
 * @throws {TypeError} If the body returns anything but a state and an output, or changes anything in the state but
 * tensors.
 */
export function scan<C extends Tree, X extends Tree, Y extends Tree>(
  f: (carry: C, x: X) => [carry: C, output: Y],
  init: C,
  xs: X,
  options: ScanOptions = {},
): [carry: C, outputs: Y] {
  checkFunction("scan", "f", f);
  checkOptions("scan", options, scanOptionNames);
  return scanOf(f, init, xs, options);
}

/** {@linkcode scan} without checks of arguments. @param closure The origin of `f`, if a loop with the same body may follow. */
export function scanOf<C extends Tree, X extends Tree, Y extends Tree>(
  f: (carry: C, x: X) => [carry: C, output: Y],
  init: C,
  xs: X,
  options: ScanOptions = {},
  closure?: Closure,
): [carry: C, outputs: Y] {
  const length = scanLength(xs);
  const body = (state: C, x: X) => {
    const result = f(state, x);
    if (Array.isArray(result) && result.length === 2) return { carry: result[0], outputs: result[1] };
    throw new TypeError("scan: the body must return [state, output]; without an output, [state, {}]");
  };
  if (length === 0) return [init, noOutputs(body, init, xs)];
  const { carry, outputs } = new Loop<C, X, Y>(body, init, xs, { ...options, closure }).run(init, length);
  return [carry, outputs];
}

/** Rows that are made for a chunk of steps at a time, so that their memory does not grow with the number of steps. */
interface RowsInChunks<X extends Tree> {
  readonly chunks: readonly Chunk[];
  rowsOf(chunk: Chunk): X;
  /** Selects rows of the outputs of a chunk. The outputs have the steps as their first axis. */
  keptOf(outputs: readonly Tensor[], chunk: Chunk): readonly Tensor[];
  /**
   * If given, the gradient takes the steps of each chunk again. It flows to these tensors and to the initial state. By default the
   * steps of all chunks are recorded.
   */
  readonly again?: readonly Tensor[];
}

/** Runs {@linkcode scanOf} chunk by chunk. Returns the last state, and the joined rows that `keptOf` selected. */
export function scanInChunks<X extends Tree>(
  f: (carry: Tensor[], x: X) => [carry: Tensor[], output: Tensor[]],
  init: readonly Tensor[],
  { chunks, rowsOf, keptOf, again }: RowsInChunks<X>,
  options: ScanOptions,
  closure?: Closure,
): [carry: readonly Tensor[], outputs: readonly Tensor[]] {
  const run = (chunk: Chunk, from: readonly Tensor[]) => {
    const [finals, outputs] = scanOf(f, [...from], rowsOf(chunk), options, closure);
    return { finals, outputs: keptOf(outputs, chunk), steps: chunk.count, sums: [] };
  };
  const { finals, outputs } = runChunks(
    chunks,
    init,
    again ? (chunk, from) => recomputeForGradient([...from, ...again], () => run(chunk, from)) : run,
    isRecording(),
  );
  return [finals, outputs];
}

/** Empty outputs, in the shapes of a step with a row of zeros. */
function noOutputs<C extends Tree, X extends Tree, Y extends Tree>(
  body: (carry: C, x: X) => { carry: C; outputs: Y },
  init: C,
  xs: X,
): Y {
  const row = treeMap(xs, (x) => zeros(x.shape.slice(1), { dtype: x.dtype }));
  const { carry, outputs } = withoutRecording(() => body(init, row));
  nextStateTensors(init, carry);
  return treeMap(outputs, (x) => zeros([0, ...x.shape], { dtype: x.dtype }));
}

function scanLength(xs: Tree): number {
  const shapes = treeLeaves(xs).map((x) => x.shape);
  if (shapes.length === 0) {
    throw new ShapeError(
      "scan: the sequences contain no tensor; the length of their first axis is the number of steps",
    );
  }
  const [length] = shapes[0] ?? [];
  const odd = shapes.find((shape) => shape[0] !== length);
  if (length === undefined || odd) {
    throw new ShapeError(
      `scan: sequences of shapes ${shapes.map(formatShape).join(", ")} must agree on the first axis`,
    );
  }
  return length;
}
