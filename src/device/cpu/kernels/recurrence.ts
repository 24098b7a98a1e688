/** Linear recurrences and cumulative sums. */
import type { BufferView, KernelDevice } from "../../device.ts";
import { type DType, isFloat } from "../../dtype.ts";
import { type RecurrenceAxes, recurrenceLines } from "../../recurrence.ts";
import { add, type ScalarFunction } from "../../scalar/scalar.ts";
import { sizeOf } from "../../shape.ts";
import { allocateView } from "../../view.ts";
import type { FunctionBuilder, Local, Opcode } from "../assembler/wasm.ts";
import { splitLines } from "./chunks.ts";
import type { Kernels } from "./kernels.ts";
import { type LineBody, type LineLayout, type LineOperand, runOnLines } from "./lines.ts";

/**
 * See `DeviceKernels.linearRecurrence`.
 *
 * @param views a, b and output.
 */
export function linearRecurrence(kernels: Kernels, views: readonly BufferView[], axes: RecurrenceAxes): void {
  if (sizeOf(views[2].shape) === 0) return;
  const parts = axes.parts === undefined ? 1 : 2;
  runOnLines(kernels, "recurrence", views, recurrenceLines(views, axes), parts, emitRecurrence);
}

function emitRecurrence({ size, groups, kinds }: LineLayout, f: FunctionBuilder): LineBody {
  const type = size === 4 ? "f32x4" : "f64x2";
  const [plus, minus, times] = ["add", "sub", "mul"].map((name) => `${type}.${name}` as Opcode);
  /** The vectors of the real and the imaginary parts of each operand. */
  const vectors = kinds.map(() => [f.locals("v128", groups), f.locals("v128", groups)]);
  const [aVectors, bVectors, xVectors] = vectors;
  const left = f.local("i32");
  const product = (p: Local, q: Local) => () => f.op(times, p, q);

  return ({ access, operands: [a, b, x], length }) => {
    const isComplex = x.places.length === 2;
    const load = ({ kind, pointers, places }: LineOperand, parts: readonly Local[][]) =>
      places.forEach((place, part) => access.load(kind, pointers, place, parts[part]));
    const advance = ({ places, step }: LineOperand) => places.forEach((place) => f.increment(place, step));
    const finish = () => {
      x.places.forEach((place, part) => {
        access.store(x.kind, x.pointers, place, bVectors[part]);
        // The result is the previous value of the next step.
        bVectors[part].forEach((vector, i) => f.set(xVectors[part][i], vector));
      });
      advance(b);
      advance(x);
      f.increment(left, -1);
    };
    f.set(left, length);
    load(b, bVectors);
    finish();
    f.while(left, () => {
      load(a, aVectors);
      load(b, bVectors);
      for (let i = 0; i < groups; i++) {
        const [p, q, r] = vectors.map((parts) => parts.map((part) => part[i]));
        f.set(q[0], () => f.op(plus, q[0], product(p[0], r[0])));
        if (!isComplex) continue;
        f.set(q[0], () => f.op(minus, q[0], product(p[1], r[1])));
        f.set(q[1], () => f.op(plus, q[1], product(p[0], r[1])));
        f.set(q[1], () => f.op(plus, q[1], product(p[1], r[0])));
      }
      advance(a);
      finish();
    });
  };
}

/**
 * See `DeviceKernels.cumulativeSum`. Sums of float32 are accumulated in float64. A few long lines are split
 * into chunks, which are summed side by side; then the sum of all previous chunks is added to each. The split
 * depends only on the shape.
 */
export function cumulativeSum(
  device: KernelDevice,
  kernels: Kernels,
  input: BufferView,
  axis: number,
  output: BufferView,
): void {
  if (sizeOf(output.shape) === 0) return;
  const views = [input, output];
  const split = splitLines(output.shape, axis);
  if (!split) return sumLines(kernels, views, axis);
  const { chunks, chunkLength, rest } = split;
  const [from, to] = views.map(split.chunksOf);
  sumLines(kernels, [from, to], axis + 1);
  // The last element of a chunk is its sum.
  const last = to.offset + (chunkLength - 1) * to.strides[axis + 1];
  const sums = { ...to, shape: to.shape.with(axis + 1, 1), offset: last };
  const before = allocateView(device, sums.shape, output.dtype);
  sumLines(kernels, [sums, before], axis);
  /** Adds cumulative sums of chunks, from chunk `first` on, to the chunks of a view. */
  const addBefore = (view: BufferView, first: number) => {
    const strides = before.strides.with(axis + 1, 0);
    const offset = first * strides[axis];
    device.map(addition, [view, { ...before, shape: view.shape, strides, offset }], view);
  };
  addBefore({ ...to, shape: to.shape.with(axis, chunks - 1), offset: to.offset + to.strides[axis] }, 0);
  if (rest > 0) {
    const [restFrom, restTo] = views.map(split.restOf);
    sumLines(kernels, [restFrom, restTo], axis + 1);
    addBefore(restTo, chunks - 1);
  }
  before.source.free();
}

const addition: ScalarFunction = { name: "add", build: add };

/** Cumulative sums of whole lines. @param views Input and output. */
function sumLines(kernels: Kernels, views: readonly BufferView[], axis: number): void {
  const { dtype } = views[1];
  const walk = recurrenceLines(views, { axis });
  runOnLines(kernels, `cumsum ${dtype}`, views, walk, 1, (layout, f) => emitSums(layout, f, dtype));
}

function emitSums({ groups }: LineLayout, f: FunctionBuilder, dtype: DType): LineBody {
  const vectors = f.locals("v128", groups);
  // Float32 needs a second vector for the float64 sums of the upper lanes.
  const sums = f.locals("v128", dtype === "float32" ? 2 * groups : groups);
  const left = f.local("i32");
  const addTo = (sum: Local, element: () => void) =>
    f.set(sum, () => f.op(isFloat(dtype) ? "f64x2.add" : "i32x4.add", sum, element));
  const addVector = (i: number) => {
    const vector = vectors[i];
    if (dtype !== "float32") {
      addTo(sums[i], () => f.get(vector));
      return f.set(vector, sums[i]);
    }
    const [lower, upper] = [sums[2 * i], sums[2 * i + 1]];
    addTo(lower, () => f.op("f64x2.promote_low_f32x4", vector));
    addTo(upper, () => f.op("f64x2.promote_low_f32x4", () => f.shuffle64([1, 1], vector, vector)));
    const rounded = (sum: Local) => () => f.op("f32x4.demote_f64x2_zero", sum);
    f.set(vector, () => f.shuffle64([0, 2], rounded(lower), rounded(upper)));
  };
  return ({ access, operands: [input, output], length }) => {
    for (const sum of sums) f.set(sum, () => f.f64x2(0));
    f.set(left, length);
    f.while(left, () => {
      access.load(input.kind, input.pointers, input.places[0], vectors);
      vectors.forEach((_, i) => addVector(i));
      access.store(output.kind, output.pointers, output.places[0], vectors);
      for (const { places, step } of [input, output]) f.increment(places[0], step);
      f.increment(left, -1);
    });
  };
}
