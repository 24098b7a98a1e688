import { describe } from "../device/describe.ts";
import { addHostNumbers, isCaptured, isCapturing, JitError, outsideCapture } from "../device/capture.ts";
import type { Buffer } from "../device/device.ts";
import { toDeviceArray, type TypedArray } from "../device/dtype.ts";
import { keepBuffer } from "../device/memory/buffer_scope.ts";
import { formatShape, ShapeError, sizeOf } from "../device/shape.ts";
import { hasBuffer, makeContiguous, uploadView } from "../device/view.ts";
import { isWatched } from "./primitive.ts";
import { Symbolic } from "./symbolic.ts";
import { Tensor, type TensorLike } from "./tensor.ts";

/** Maximum number of elements of a cached copy. Copies are for times, which determine the number of steps of a solve. */
const maxMirroredElements = 2 ** 16;

const mirrors = new WeakMap<Buffer, Float64Array>();

/** Buffers assigned since the trace of a `jit` function began. Their content is known only when the commands run. */
let assigned = new WeakSet<Buffer>();

/**
 * Caches the host's copy of a short vector, or of a few rows on a device without synchronous reads. Solvers can then check and use
 * times on a GPU without reading them back.
 */
export function cacheHostValues(x: Tensor, values: ArrayLike<number>): void {
  const { view } = x;
  const mayHoldTimes = x.rank <= 1 || (x.rank === 2 && !x.memoryDevice.readSync);
  if (mayHoldTimes && x.size <= maxMirroredElements && hasBuffer(view)) {
    mirrors.set(view.source, new Float64Array(values));
  }
}

/** Drops the cached copy of a buffer that changes. */
export function invalidateHostValues(buffer: Buffer): void {
  mirrors.delete(buffer);
  assigned.add(buffer);
}

/** The values of a tensor, row-major, if the host has them without waiting; `undefined` otherwise. */
export function peekHostValues(x: Tensor): Float64Array | undefined {
  if (x.storage instanceof Symbolic) return x.storage.value && peekHostValues(x.storage.value as Tensor);
  if (!isCapturing() || !hasBuffer(x.view)) return valuesOf(x);
  // Results of the traced function may differ in later calls, except for tensors that it makes from numbers.
  if (isCaptured(x.view.source) || assigned.has(x.view.source)) {
    return mirrors.has(x.view.source) ? valuesOf(x) : undefined;
  }
  const values = outsideCapture(() => valuesOf(x));
  const same = new Tensor(x.view);
  if (values) reads.push(() => valuesOf(same)?.every((value, i) => Object.is(value, values[i])) ?? false);
  return values;
}

/** Whether values that a traced function has read on the host are still the same. */
export type HostRead = () => boolean;

let reads: HostRead[] = [];

/** Runs `body` while commands are captured, and returns the host reads of `body`. */
export function collectHostReads<T>(body: () => T): { result: T; reads: readonly HostRead[] } {
  const own: HostRead[] = reads = [];
  assigned = new WeakSet();
  return { result: body(), reads: own };
}

/** Copies the cached host values of a tensor to a copy of the tensor, on a device without synchronous reads. */
export function copyHostValues(from: Tensor, to: Tensor): void {
  const [source, target] = [from.view, to.view];
  if (to.memoryDevice.readSync || !hasBuffer(target)) return;
  if (!hasBuffer(source) || mirrors.has(source.source)) cacheHostValues(to, valuesOf(from)!);
  else invalidateHostValues(target.source);
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
  const words: TypedArray | undefined = x.memoryDevice.readSync?.(makeContiguous(x.memoryDevice, view));
  return words && new Float64Array(words.subarray(0, sizeOf(x.shape)));
}

/**
 * Checks that whole numbers are in a range, if the host can read them without waiting. Values computed on a GPU and symbols are
 * not checked.
 *
 * @param range The first and the last valid number.
 * @param what Meaning of the numbers, for the message.
 * @returns Whether the values were checked.
 * @throws {RangeError} With the first value outside of the range and its position.
 */
export function checkWithin(
  operation: string,
  name: string,
  x: Tensor,
  [from, to]: readonly [number, number],
  what: string,
): boolean {
  if (isCapturing() && !(x.storage instanceof Symbolic)) {
    // Later calls may have other values, which are checked then.
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
    } (index ${wrong}), ` +
      `expected ${expected}: ${what}`,
  );
}

/**
 * Rejects times with respect to which a gradient is being computed: times determine the number of steps, so they are constants.
 *
 * @throws {TypeError} If a gradient with respect to `t` is being computed.
 */
export function checkConstant(t: Tensor, name: string): void {
  if (!isWatched(t)) return;
  throw new TypeError(
    `${name}: times have no gradient; do not differentiate with respect to times, or pass stopGradient(t)`,
  );
}

/**
 * Times as plain numbers.
 *
 * @throws {ShapeError} If the times have more than one axis.
 * @throws {Error} If the times were computed on a GPU and would have to be read back.
 * @throws {TypeError} If the argument is not a vector, or a gradient with respect to times is computed.
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
        (isNested
          ? "; if the function accepts separate times for each series, pass a tensor: tensor(t)"
          : ""),
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
      }; pass numbers, or read the times first: ` +
        "await t.data()",
    );
  }
  return values;
}

/**
 * Numbers that `compute` returns on the host: a list for each tensor of `like`, with the type of the tensor. Inside `jit` the
 * numbers are tensors of no axes, and each call of the compiled function runs `compute` again.
 */
export function hostNumbers(
  like: readonly Tensor[],
  compute: () => readonly (readonly number[])[],
): readonly (readonly TensorLike[])[] {
  const first = compute();
  if (!isCapturing() || like.length === 0) return first;
  const { memoryDevice: device, dtype } = like[0];
  const words = (lists: typeof first) => toDeviceArray(lists.flat(), dtype);
  const view = outsideCapture(() => uploadView(device, first.flat(), [first.flat().length], dtype));
  keepBuffer(view.source);
  addHostNumbers({ view, compute: () => words(compute()) });
  const all = new Tensor(view);
  let position = 0;
  return first.map((list, i) => list.map(() => all.select(0, position++).cast(like[i].dtype)));
}
