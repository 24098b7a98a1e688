/** Arrays with any number of axes, by naive loops: the reference for the library. */
import assert from "node:assert/strict";
import { type DType, type Tensor, tensor } from "../../mod.ts";

/** Row-major values and their shape. */
export interface Nd {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

export const size = (shape: readonly number[]): number =>
  shape.reduce((product, length) => product * length, 1);

/** Every position of a shape, in row-major order. */
export function* positions(shape: readonly number[]): Generator<number[]> {
  const position = shape.map(() => 0);
  for (let count = size(shape); count > 0; count--) {
    yield [...position];
    for (let axis = shape.length - 1; axis >= 0 && ++position[axis] === shape[axis]; axis--) {
      position[axis] = 0;
    }
  }
}

/** The element at a position. Axes of length one broadcast, also missing leading axes. */
export function at({ shape, values }: Nd, position: readonly number[]): number {
  const trailing = position.slice(position.length - shape.length);
  return values[
    shape.reduce((offset, length, axis) => offset * length + (length === 1 ? 0 : trailing[axis]), 0)
  ];
}

/** An array from a function of the position. */
export function build(shape: readonly number[], f: (position: number[]) => number): Nd {
  return { shape, values: [...positions(shape)].map(f) };
}

/** A second implementation of NumPy's broadcasting. */
export function broadcast(...shapes: (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    const lengths = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1);
    return lengths.find((length) => length !== 1) ?? 1;
  });
}

export function map(f: (...x: number[]) => number, ...arrays: Nd[]): Nd {
  return build(
    broadcast(...arrays.map(({ shape }) => shape)),
    (position) => f(...arrays.map((array) => at(array, position))),
  );
}

/** A reduction along axes. */
export function reduce(x: Nd, axes: readonly number[], f: (elements: number[]) => number, keep = false): Nd {
  const keptShape = x.shape.map((length, axis) => axes.includes(axis) ? 1 : length);
  const inner = x.shape.map((length, axis) => axes.includes(axis) ? length : 1);
  const values = [...positions(keptShape)].map((outer) =>
    f([...positions(inner)].map((position) => at(x, position.map((p, axis) => p + outer[axis]))))
  );
  return { shape: keep ? keptShape : x.shape.filter((_, axis) => !axes.includes(axis)), values };
}

export function permute(x: Nd, axes: readonly number[]): Nd {
  return build(
    axes.map((axis) => x.shape[axis]),
    (position) => at(x, axes.map((_, axis) => position[axes.indexOf(axis)])),
  );
}

export function matmul(a: Nd, b: Nd): Nd {
  const [m, k] = a.shape.slice(-2), n = b.shape.at(-1)!;
  const shape = [...broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2)), m, n];
  return build(shape, (position) => {
    const [batch, i, j] = [position.slice(0, -2), position.at(-2)!, position.at(-1)!];
    let sum = 0;
    for (let l = 0; l < k; l++) sum += at(a, [...batch, i, l]) * at(b, [...batch, l, j]);
    return sum;
  });
}

/** Numbers that depend only on the seed, uniform in [low, high), or integers in that range. */
export function random(
  shape: readonly number[],
  seed: number,
  { low = -2, high = 2, whole = false }: { low?: number; high?: number; whole?: boolean } = {},
): Nd {
  let state = (seed + 1) * 2654435761 >>> 0;
  return build(shape, () => {
    state = (Math.imul(state ^ state >>> 15, 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    const mixed = Math.imul(state ^ state >>> 13, 0x297a2d39) >>> 0;
    const value = low + (high - low) * (mixed / 2 ** 32);
    return whole ? Math.floor(value) : Math.fround(value);
  });
}

export function toTensor({ shape, values }: Nd, dtype: DType = "float32"): Tensor {
  return tensor(values as number[], { shape, dtype });
}

export async function fromTensor(x: Tensor): Promise<Nd> {
  return { shape: x.shape, values: [...await x.data()] };
}

/** Memory layouts of the same elements. */
export const layouts = ["contiguous", "permuted", "reversed", "inside", "repeated"] as const;
type Layout = typeof layouts[number];

/**
 * A tensor with these elements in a given layout: as a permuted view, every second element backwards, a
 * window of a larger array, or, for `repeated`, with stride zero along every axis of constant values.
 */
export function laidOut(x: Nd, layout: Layout, dtype: DType = "float32"): Tensor {
  const { shape } = x;
  const rank = shape.length;
  const outside = 99;
  if (layout === "permuted") {
    const order = shape.map((_, axis) => rank - 1 - axis);
    return toTensor(permute(x, order), dtype).permute(order);
  }
  if (layout === "reversed") {
    const wide = build(
      shape.map((length) => 2 * length),
      (position) =>
        position.every((p) => p % 2 === 1)
          ? at(x, position.map((p, axis) => shape[axis] - 1 - (p - 1) / 2))
          : outside,
    );
    return shape.reduce((view, _, axis) => view.slice(axis, undefined, undefined, -2), toTensor(wide, dtype));
  }
  if (layout === "inside") {
    const wide = build(
      shape.map((length) => length + 3),
      (position) =>
        position.every((p, axis) => p >= 2 && p < shape[axis] + 2)
          ? at(x, position.map((p) => p - 2))
          : outside,
    );
    return shape.reduce((view, length, axis) => view.slice(axis, 2, 2 + length), toTensor(wide, dtype));
  }
  if (layout === "repeated") {
    const constant = (axis: number) =>
      [...positions(shape)].every((position) =>
        at(x, position) === at(x, position.map((p, i) => i === axis ? 0 : p))
      );
    const short = shape.map((length, axis) => length > 1 && constant(axis) ? 1 : length);
    return toTensor(build(short, (position) => at(x, position)), dtype).broadcastTo(shape);
  }
  return toTensor(x, dtype);
}

/**
 * Makes values that `laidOut(..., "repeated")` can represent with stride zero: the same values along the
 * first axis.
 */
export function repeatFirstAxis(x: Nd): Nd {
  return build(x.shape, (position) => at(x, position.map((p, axis) => axis === 0 ? 0 : p)));
}

/**
 * Fails unless shapes are equal and values agree up to a share of each value plus a tenth of that share of
 * the largest value.
 */
export function assertClose(found: Nd, expected: Nd, tolerance = 1e-5, name = ""): void {
  assert.deepEqual([...found.shape], [...expected.shape], `${name}: shape`);
  const largest = expected.values.reduce(
    (max, x) => Number.isFinite(x) ? Math.max(max, Math.abs(x)) : max,
    0,
  );
  expected.values.forEach((value, i) => {
    const other = found.values[i];
    if (Object.is(value, other) || value === other || Number.isNaN(value) && Number.isNaN(other)) return;
    const allowed = tolerance * (Math.abs(value) + 0.1 * largest);
    const message = () => `${name}: element ${i} of (${expected.shape}) is ${other}, expected ${value}`;
    assert.ok(Math.abs(value - other) <= allowed, message());
  });
}

export async function assertTensor(found: Tensor, expected: Nd, tolerance = 1e-5, name = ""): Promise<void> {
  assertClose(await fromTensor(found), expected, tolerance, name);
}
