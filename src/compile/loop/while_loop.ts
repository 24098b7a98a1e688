import { isCapturing } from "../../device/capture.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { isFloat } from "../../device/dtype.ts";
import { LruCache } from "../../device/lru_cache.ts";
import { formatShape, ShapeError } from "../../device/shape.ts";
import { checkFunction } from "../../tensor/checks.ts";
import { zeros } from "../../tensor/creation.ts";
import { concatenate, stopGradient } from "../../tensor/functions.ts";
import { isRecording } from "../../tensor/primitive.ts";
import { tidyLater } from "../../tensor/scope.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { type Tree, treeFlatten, treeLeaves, treeMap, withLeaves } from "../../tensor/tree.ts";
import { peekBeneath } from "./ending.ts";
import { Loop, type ScanOptions } from "./loop.ts";
import { type Closure, scanOptionNames } from "./loop_options.ts";
import { TracedTree } from "../trace/traced_tree.ts";
import { inEachCall } from "../jit/each_call.ts";
import { nextStateTensors } from "./next_state.ts";

export { beneathAll, peekBeneath, peekOutsideLoops } from "./ending.ts";

/** Options of {@linkcode whileLoop}. */
export interface WhileLoopOptions extends ScanOptions {
  /** Maximum number of steps of a sample. The loop ends after as many steps, whatever the condition. */
  maxSteps: number;
}

const optionNames = namesOf<WhileLoopOptions>()("maxSteps", scanOptionNames);

/**
 * Changes a state as long as a condition holds, as JAX's `lax.while_loop`, with gradients.
 *
 * The condition returns one boolean for all, or one for each sample, `(batch)` or `(batch, 1, ...)`. Each tensor of the state then
 * has the samples as its first axis. A sample whose condition is false keeps its values, and the loop ends when no condition
 * holds. Inside `vmap`, each example ends by itself.
 *
 * The gradient passes through the steps that were taken. While a gradient is recorded, the body also runs for samples that have
 * ended, on their initial state: their results are dropped, but a NaN in them reaches the gradient if the body gives NaN for an
 * initial state whose condition is false.
 *
 * Inside `jit` the loop runs again in each call. On a device whose values must be awaited, it takes `maxSteps` steps: choose a small
 * number.
 *
 * @example
 * ```ts
 * import { tensor, whileLoop } from "@weft/weft";
 *
 * // Halve each number until it is below 1.
 * const halved = whileLoop((x) => x.greaterEqual(1), (x) => x.mul(0.5), tensor([5, 0.3, 100]), { maxSteps: 64 });
 * console.log(await halved.data()); // 0.625, 0.3, 0.78125
 * ```
 *
 * @param condition Whether to take a step, from the state: a bool tensor. It has no gradient.
 * @param body The state after a step, with the structure, shapes and types of its argument.
 * @param init The initial state: a tensor, or plain objects and arrays of tensors.
 * @returns The state when the loop ends. If samples need more than `maxSteps` steps, their condition still holds.
 * @throws {RangeError} If `maxSteps` is not a whole number of at least 0.
 * @throws {ShapeError} If the condition has another shape, or the body changes the state's structure, shapes or types.
 * @throws {TypeError} If the condition is not a bool tensor, or the state has no tensor.
 */
export function whileLoop<C extends Tree>(
  condition: (state: C) => Tensor,
  body: (state: C) => C,
  init: C,
  options: WhileLoopOptions,
): C {
  checkFunction("whileLoop", "condition", condition);
  checkFunction("whileLoop", "body", body);
  checkOptions("whileLoop", options, optionNames);
  const { maxSteps } = options;
  if (!(Number.isInteger(maxSteps) && maxSteps >= 0)) {
    throw new RangeError(`whileLoop: maxSteps is ${maxSteps}, expected a whole number of at least 0`);
  }
  return whileLoopOf(condition, body, init, options);
}

/** {@linkcode whileLoop} without checks of arguments. @param closure The origin of condition and body, if a loop with the same functions may follow. */
export function whileLoopOf<C extends Tree>(
  condition: (state: C) => Tensor,
  body: (state: C) => C,
  init: C,
  options: WhileLoopOptions,
  closure?: Closure,
): C {
  const run = (condition: (state: C) => Tensor, body: (state: C) => C, init: C, closure?: Closure) =>
    readNow(runWhile(condition, (state) => ({ carry: body(state) }), init, { ...options, closure })).carry;
  if (!isCapturing() || treeLeaves(init).length === 0) return run(condition, body, init, closure);
  // Inside jit the loop runs again in each call. Functions of the state and of what they close over are traced for that.
  const [goes, next] = [condition, body].map((f) => new TracedTree(f as (state: C) => Tree, init));
  const leaves = treeLeaves(init);
  const results = inEachCall([...leaves, ...goes.closedOver, ...next.closedOver], (all) => {
    const ofCondition = all.slice(leaves.length, leaves.length + goes.closedOver.length);
    const ofBody = all.slice(leaves.length + goes.closedOver.length);
    return treeLeaves(run(
      (state) => goes.call(state, ofCondition) as Tensor,
      (state) => next.call(state, ofBody) as C,
      withLeaves(init, all.slice(0, leaves.length)),
    ));
  });
  return withLeaves(init, results);
}

/** A computation that yields tensors and receives their values, `undefined` if they cannot be read without waiting. */
export type Reading<T> = Generator<Tensor, T, ArrayLike<number> | undefined>;

/** Runs a computation with the values that the host has without waiting. */
export function readNow<T>(reading: Reading<T>): T {
  let turn = reading.next();
  while (!turn.done) turn = reading.next(peekBeneath(turn.value));
  return turn.value;
}

/** A step of a loop: the state after the step, and values of the step. */
export interface WhileStep<C extends Tree, Y extends Tree> {
  readonly carry: C;
  readonly outputs?: Y;
}

/** Results of a loop. Outputs are stacked along a new first axis. Those of a sample that has ended are undefined. */
interface WhileRun<C, Y> {
  readonly carry: C;
  readonly outputs: Y | undefined;
  readonly steps: number;
}

/** Number of steps between reads of the flags: they grow, because each read takes time. */
const chunkSteps = { first: 64, most: 4096, checkpointed: 32 };

/** Numbers of steps of earlier loops, by their origin and shapes. The first steps of the next such loop are about as many. */
const earlierSteps = new LruCache<string, { steps: number }>(64);

/** A number of steps that is likely to be enough for a loop after one that took `steps`. */
function likelySteps(steps: number): number {
  return Math.min(chunkSteps.most, 16 * Math.ceil((1.25 * steps + 1) / 16));
}

interface RunOptions extends WhileLoopOptions {
  /** Whether `step` itself keeps the state of samples whose condition is false. */
  readonly keepsEnded?: boolean;
  /** Receives the outputs of some steps, and their values, instead of the result. */
  readonly read?: (outputs: Tensor, values: ArrayLike<number>) => void;
  /** The origin of condition and step, if a loop with the same functions may follow. */
  readonly closure?: Closure;
}

/** {@linkcode whileLoop} with values of every step. */
export function* runWhile<C extends Tree, Y extends Tree = undefined>(
  condition: (state: C) => Tensor,
  step: (state: C) => WhileStep<C, Y>,
  init: C,
  { maxSteps, keepsEnded = false, read, closure, ...options }: RunOptions,
): Reading<WhileRun<C, Y>> {
  if (treeLeaves(init).length === 0) throw new TypeError("whileLoop: the initial state contains no tensor");
  const goes = checkedCondition(condition(init), init);
  const ended = (goes: Tensor) => goes.not().cast(flagType);
  const flagType = treeLeaves(init).find(({ dtype }) => isFloat(dtype))?.dtype ?? "float32";
  const selects = isRecording();
  const first = selects ? treeMap(init, (x: Tensor) => stopGradient(x)) : init;
  type Carry = { readonly state: C; readonly settled: Tensor; readonly count: Tensor };
  const body = ({ state, settled, count }: Carry) => {
    const isActive = settled.equal(0);
    // A sample that has ended runs on its initial state: its results are dropped, but must have finite gradients.
    const { carry, outputs } = step(selects ? select(isActive, state, first) : state);
    nextStateTensors(state, carry, "whileLoop");
    const next = keepsEnded ? carry : select(isActive, carry, state);
    const goes = isActive.and(condition(next));
    return {
      carry: { state: next, settled: ended(goes), count: count.add(isActive.cast(flagType)) },
      outputs: outputs as Y,
    };
  };
  let carry: Carry = {
    state: init,
    settled: ended(goes),
    count: zeros(goes.shape, { dtype: flagType }),
  };
  const chunks: Y[] = [];
  let steps = 0;
  const isEnd = (settled?: ArrayLike<number>) =>
    settled && Array.prototype.every.call(settled, (value) => value !== 0);
  if (maxSteps === 0 || isEnd(yield carry.settled)) return { carry: init, outputs: undefined, steps };
  const loop = new Loop<Carry, Record<never, never>, Y>(body, carry, {}, {
    ...options,
    closure: closure && {
      key: `${closure.key} ${keepsEnded} ${selects}`,
      tensors: [...closure.tensors, ...selects ? treeLeaves(first) : []],
    },
    ending: ({ settled, count }) => [settled, count],
  });
  const growth = options.checkpoint
    ? (length: number) => length + chunkSteps.checkpointed
    : (length: number) => 4 * length;
  const earlier = closure && !options.checkpoint
    ? earlierSteps.getOrMake(
      `${closure.key} ${treeLeaves(init).map(({ shape }) => shape)}`,
      () => ({ steps: 0 }),
    )
    : undefined;
  let length: number = options.checkpoint
    ? chunkSteps.checkpointed
    : earlier?.steps
    ? likelySteps(earlier.steps)
    : chunkSteps.first;
  let release: (wanted: unknown) => void = () => {};
  do {
    const from = carry;
    const most = Math.min(length, maxSteps - steps);
    const { result, release: releaseNext } = tidyLater(() => loop.run(from, most));
    carry = result.carry;
    steps += result.steps;
    // Otherwise the device may have gone on after the end.
    if (earlier && result.steps < most) earlier.steps = steps;
    if (read && result.outputs instanceof Tensor) {
      const values = yield result.outputs;
      if (values) read(result.outputs, values);
    } else if (result.outputs !== undefined) chunks.push(result.outputs);
    release([init, carry, chunks]);
    release = releaseNext;
    length = Math.min(growth(length), chunkSteps.most);
  } while (steps < maxSteps && !isEnd(yield carry.settled));
  release([carry.state, chunks]);
  return { carry: carry.state, outputs: joined(chunks), steps };
}

/** A choice between two states, by a bool for all or for each sample. */
function select<C extends Tree>(isFirst: Tensor, a: C, b: C): C {
  const others = treeLeaves(b);
  const chosen = treeLeaves(a).map((x, i) => {
    const [batch, ...rest] = x.shape;
    const flags = isFirst.rank === 0 ? isFirst : isFirst.reshape([batch, ...rest.map(() => 1)]);
    return flags.where(x, others[i]);
  });
  return withLeaves(b, chosen);
}

/** The outputs of all steps. */
function joined<Y>(chunks: readonly Y[]): Y | undefined {
  if (chunks.length < 2) return chunks[0];
  const columns = chunks.map((chunk) => treeLeaves(chunk));
  return withLeaves(chunks[0], columns[0].map((_, i) => concatenate(columns.map((column) => column[i]))));
}

/** @throws {TypeError | ShapeError} If a condition is not a bool for all or for each sample. */
function checkedCondition(goes: unknown, init: Tree): Tensor {
  if (!(goes instanceof Tensor) || goes.dtype !== "bool") {
    throw new TypeError(
      `whileLoop: the condition returned ${
        goes instanceof Tensor ? goes.dtype : typeof goes
      }, expected a bool tensor, as of x.greater(0)`,
    );
  }
  if (goes.rank === 0) return goes;
  const [batch, ...rest] = goes.shape;
  const odd = treeFlatten(init).find(([, { shape }]) => shape[0] !== batch);
  if (odd || rest.some((length) => length !== 1)) {
    throw new ShapeError(
      `whileLoop: the condition has shape ${
        formatShape(goes.shape)
      }, expected (), or (batch) if every tensor of the state has ` +
        `the first axis batch` +
        (odd ? `; ${odd[0] || "the state"} has shape ${formatShape(odd[1].shape)}` : ""),
    );
  }
  return goes;
}
