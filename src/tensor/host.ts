import { describe } from "../device/describe.ts";
import { addHostNumbers, isCaptured, isCapturing, JitError, outsideCapture } from "../device/capture.ts";
import type { Buffer } from "../device/device.ts";
import { toDeviceArray, type TypedArray } from "../device/dtype.ts";
import { keepBuffer } from "../device/buffer_scope.ts";
import { formatShape, ShapeError, sizeOf } from "../device/shape.ts";
import { hasBuffer, makeContiguous, uploadView } from "../device/view.ts";
import { isWatched } from "./primitive.ts";
import { Symbolic } from "./symbolic.ts";
import { Tensor, type TensorLike } from "./tensor.ts";

/** Largest number of elements that is remembered: this is for times, which decide how many steps a solve takes. */
const maxMirroredElements = 2 ** 16;

const mirrors = new WeakMap<Buffer, Float64Array>();

/** Memory that has been assigned to since the trace of a function began: its content is known only when the commands run. */
let assigned = new WeakSet<Buffer>();

/**
 * Remembers the host's copy of a short vector, or of a few rows on a device that cannot be asked at once, so that a GPU's times
 * need not be read back to plan a solve and to look whether they increase.
 */
export function rememberHostValues(x: Tensor, values: ArrayLike<number>): void {
  const { view } = x;
  const mayHoldTimes = x.rank <= 1 || (x.rank === 2 && !x.device.readSync);
  if (mayHoldTimes && x.size <= maxMirroredElements && hasBuffer(view)) {
    mirrors.set(view.source, Float64Array.from(values));
  }
}

/** Forgets a copy that is no longer true. */
export function forgetHostValues(buffer: Buffer): void {
  mirrors.delete(buffer);
  assigned.add(buffer);
}

/** The values of a tensor, row-major, if the host has them without waiting; `undefined` otherwise. */
export function peekHostValues(x: Tensor): Float64Array | undefined {
  if (x.storage instanceof Symbolic) return x.storage.value && peekHostValues(x.storage.value as Tensor);
  if (!isCapturing() || !hasBuffer(x.view)) return valuesOf(x);
  // Results of the traced function are not known for later calls, but for those that it makes of numbers.
  if (isCaptured(x.view.source) || assigned.has(x.view.source)) {
    return mirrors.has(x.view.source) ? valuesOf(x) : undefined;
  }
  const values = outsideCapture(() => valuesOf(x));
  const same = new Tensor(x.view);
  if (values) reads.push(() => valuesOf(same)?.every((value, i) => Object.is(value, values[i])) ?? false);
  return values;
}

/** Looks again at values that a traced function has read: whether it would compute the same with those of now. */
export type HostRead = () => boolean;

let reads: HostRead[] = [];

/** Runs `body` and tells which values it has read on the host while commands were captured. */
export function collectHostReads<T>(body: () => T): { result: T; reads: readonly HostRead[] } {
  const own: HostRead[] = reads = [];
  assigned = new WeakSet();
  return { result: body(), reads: own };
}

/** Makes a copy of a tensor remember what the host knows of it, on a device that cannot be asked. */
export function takeOverHostValues(from: Tensor, to: Tensor): void {
  const [source, target] = [from.view, to.view];
  if (to.device.readSync || !hasBuffer(target)) return;
  if (!hasBuffer(source) || mirrors.has(source.source)) rememberHostValues(to, valuesOf(from)!);
  else forgetHostValues(target.source);
}

function valuesOf(x: Tensor): Float64Array | undefined {
  const { view } = x;
  if (!hasBuffer(view)) return new Float64Array(x.size).fill(view.source as number);
  const mirror = mirrors.get(view.source);
  if (mirror) {
    return Float64Array.from({ length: x.size }, (_, i) => {
      let at = view.offset;
      for (let axis = x.rank - 1, rest = i; axis >= 0; axis--) {
        at += rest % x.shape[axis] * view.strides[axis];
        rest = Math.floor(rest / x.shape[axis]);
      }
      return mirror[at];
    });
  }
  const words: TypedArray | undefined = x.device.readSync?.(makeContiguous(x.device, view));
  return words && Float64Array.from(words.subarray(0, sizeOf(x.shape)));
}

/**
 * Refuses whole numbers outside a range, where the host sees them without waiting: what was computed on a GPU, and what is
 * traced, passes.
 *
 * @param range From the first to the second, both included, and what lies there, in words.
 * @returns Whether the host has seen them.
 * @throws {RangeError} With the first that is outside, and its position.
 */
export function checkWithin(
  operation: string,
  name: string,
  x: Tensor,
  [from, to]: readonly [number, number],
  what: string,
): boolean {
  if (isCapturing() && !(x.storage instanceof Symbolic)) {
    // Other values of the same tensor may come, and are looked at then.
    if (!hasBuffer(x.view) || isCaptured(x.view.source)) return false;
    const same = new Tensor(x.view);
    const check = () => outsideCapture(() => checkWithin(operation, name, same, [from, to], what));
    reads.push(() => (check(), true));
    return check();
  }
  const values = x.storage instanceof Symbolic ? undefined : peekHostValues(x);
  const wrong = values?.findIndex((value) => value < from || value > to) ?? -1;
  if (wrong < 0) return values !== undefined;
  const expected = to < from ? "none" : `${from} to ${to}`;
  throw new RangeError(
    `${operation}: ${name} of shape ${formatShape(x.shape)} have the value ${
      values![wrong]
    } (number ${wrong}), ` +
      `expected ${expected}: ${what}`,
  );
}

/** @throws {TypeError} If a gradient with respect to times is being asked for: they decide how many steps there are. */
export function checkConstant(t: Tensor, name: string): void {
  if (!isWatched(t)) return;
  throw new TypeError(
    `${name}: gradients do not flow to times; leave them out of what is differentiated, or give stopGradient(t)`,
  );
}

/**
 * Times as plain numbers.
 *
 * @throws {ShapeError} If they have more than one axis, or were computed on a GPU and would have to be read back.
 * @throws {TypeError} If they are one number or none, or a gradient with respect to them is being asked for.
 */
export function hostTimes(t: Tensor | ArrayLike<number>, name: string): Float64Array {
  if (typeof t !== "object" || t === null || !("length" in t) && !(t instanceof Tensor)) {
    throw new TypeError(`${name} is ${describe(t)}, expected times: an array of numbers, or a vector`);
  }
  if (!(t instanceof Tensor)) {
    const wrong = Array.prototype.findIndex.call(t, (time) => typeof time !== "number");
    if (wrong < 0) return Float64Array.from(t);
    const isNested = Array.isArray(t[wrong]);
    throw new TypeError(
      `${name}[${wrong}] is ${describe(t[wrong])}, expected a number` +
        (isNested ? "; give times of each series as a tensor, tensor(t), if the function takes them" : ""),
    );
  }
  if (t.rank > 1) throw new ShapeError(`${name}: expected a vector of times, got ${t.rank} axes`);
  checkConstant(t, name);
  const values = peekHostValues(t);
  if (!values && t.storage instanceof Symbolic) {
    throw new TypeError(`${name}: ${t.storage.whyNoValues}`);
  }
  if (!values) {
    throw new (isCapturing() ? JitError : Error)(
      `${name}: these times were computed ${
        isCapturing() ? "inside jit" : "on the GPU"
      }; pass numbers, or read them first: ` +
        "await t.data()",
    );
  }
  return values;
}

/**
 * Numbers of the host, a list for each of some tensors and in its type. Inside `jit`, which asks for them again at each call, they
 * are tensors of no axes.
 */
export function hostNumbers(
  like: readonly Tensor[],
  compute: () => readonly (readonly number[])[],
): readonly (readonly TensorLike[])[] {
  const first = compute();
  if (!isCapturing() || like.length === 0) return first;
  const { device, dtype } = like[0];
  const words = (lists: typeof first) => toDeviceArray(lists.flat(), dtype);
  const view = outsideCapture(() => uploadView(device, first.flat(), [first.flat().length], dtype));
  keepBuffer(view.source);
  addHostNumbers({ view, compute: () => words(compute()) });
  const all = new Tensor(view);
  let position = 0;
  return first.map((list, i) => list.map(() => all.select(0, position++).cast(like[i].dtype)));
}
