import { CpuDevice } from "../device/cpu/device.ts";
import { WebGpuDevice } from "../device/webgpu/device.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { stack } from "../tensor/functions.ts";
import { peekHostValues } from "../tensor/host.ts";
import { isRecording } from "../tensor/primitive.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import { scalar, type Tensor } from "../tensor/tensor.ts";
import { leaves, mapTree, type Tree } from "../tensor/tree.ts";
import type { Executor } from "./run.ts";
import { executorFor } from "./choose_executor.ts";
import { runCompiled } from "./compiled_scan.ts";
import { Uncompilable, warnOnce } from "./uncompilable.ts";

/**
 * Carries a state through the rows of sequences: `[state, output] = f(state, row)` for each, as JAX's `lax.scan`.
 *
 * @param f The body. It is called with the state and, for every tensor of `xs`, its row.
 * @param init The first state: a tensor, or plain objects and arrays of them.
 * @param xs Sequences along their first axis, all of one length.
 * @returns The last state, and the outputs of all steps stacked along a new first axis.
 * @throws {ShapeError} If the sequences differ in length, or the body changes the state's shapes.
 * @throws {TypeError} If the body returns anything but a state and an output.
 */
export function scan<C extends Tree, X extends Tree, Y extends Tree>(
  f: (carry: C, x: X) => [carry: C, output: Y],
  init: C,
  xs: X,
  options: ScanOptions = {},
): [carry: C, outputs: Y] {
  const length = scanLength(xs);
  const { compile = true, checkpoint = false } = options;
  const body: typeof f = (carry, x) => {
    const result = f(carry, x);
    if (Array.isArray(result) && result.length === 2) return result;
    throw new TypeError("scan: the body must return [state, output]; without an output, [state, {}]");
  };
  const execute = compile && length > 0 ? executorOf(leaves(init), options) : undefined;
  if (!execute) return runStepByStep(body, init, xs, length);
  try {
    const { memory = execute.memory } = options;
    return runCompiled(body, init, xs, length, { execute, checkpoint, memory });
  } catch (error) {
    if (!(error instanceof Uncompilable)) throw error;
    warnOnce(error);
    return runStepByStep(body, init, xs, length);
  }
}

/** Options of {@linkcode scan}. */
export interface ScanOptions {
  /** Whether the loop is compiled, `true` by default; otherwise every operation of every step runs by itself. */
  compile?: boolean;
  /**
   * Whether the gradient keeps the state of every so many steps only and computes the others again: memory that grows
   * with the square root of the steps, for one more run of the loop. `false` by default.
   */
  checkpoint?: boolean;
  /**
   * Bytes that the values of many steps may take: what is computed ahead because it does not depend on the state, the
   * outputs and, for a gradient, the states. A loop with more runs in segments of time, and once more for its gradient.
   * A share of the device's by default.
   */
  memory?: number;
  /**
   * What runs a compiled loop. `"fused"`: one kernel takes a few samples through many steps, for weights that caches hold.
   * `"stepped"`: each operation of a step is a kernel for all samples, for weights that are too large to be read again for
   * every few samples. Chosen from the shapes by default; {@linkcode explain} says which and why.
   */
  executor?: "fused" | "stepped";
}

/** The executor of compiled loops on the device of some tensors, if there is one. */
export function executorOf(
  [x]: readonly Tensor[],
  { executor }: Pick<ScanOptions, "executor"> = {},
): Executor | undefined {
  // Inside another loop's trace there is no device: the operations of this one become part of the other's body.
  if (!x || x.storage instanceof Symbolic) return undefined;
  const { device } = x;
  if (!(device instanceof CpuDevice || device instanceof WebGpuDevice)) return undefined;
  return executorFor(device, executor);
}

function scanLength(xs: Tree): number {
  const shapes = leaves(xs).map((x) => x.shape);
  const [length] = shapes[0] ?? [];
  const odd = shapes.find((shape) => shape[0] !== length);
  if (length === undefined || odd) {
    throw new ShapeError(
      `scan: sequences of shapes ${shapes.map(formatShape).join(", ")} must agree on the first axis`,
    );
  }
  return length;
}

function runStepByStep<C extends Tree, X extends Tree, Y extends Tree>(
  f: (carry: C, x: X) => [carry: C, output: Y],
  init: C,
  xs: X,
  length: number,
): [carry: C, outputs: Y] {
  // A number has no gradient, so only where nobody asks for one.
  const plain = new Map(
    leaves(xs).map((x) => [x, x.rank === 1 && !isRecording() ? peekHostValues(x) : undefined]),
  );
  let carry = init;
  const outputs: Y[] = [];
  for (let step = 0; step < length; step++) {
    // A time known on the host stays a number: a path then finds its piece without asking the device.
    const row = mapTree(xs, (x: Tensor) => {
      const value = plain.get(x)?.[step];
      return value === undefined ? x.at(0, step) : scalar(value, x.dtype);
    });
    const [next, output] = f(carry, row);
    carry = next;
    outputs.push(output);
  }
  const columns = outputs.map(leaves);
  let position = 0;
  return [
    carry,
    mapTree(outputs[0], () => {
      const at = position++;
      return stack(columns.map((column) => column[at]));
    }),
  ];
}
