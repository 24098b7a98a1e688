/** A test case of a primitive with its expected result by naive loops, and functions that make cases. */
import type { DType, Tensor } from "../../mod.ts";
import { apply } from "../../src/tensor/primitive.ts";
import type { Elementwise } from "../../src/tensor/primitives/elementwise.ts";
import * as indexing from "../../src/tensor/primitives/indexing.ts";
import * as linear from "../../src/tensor/primitives/linear_algebra.ts";
import * as sorting from "../../src/tensor/primitives/sorting.ts";
import { at, build, map, matmul, type Nd, positions, random, reduce } from "./nd.ts";

/** An operand: its elements, and their type if it differs from the tested floating-point type. */
export interface Operand {
  readonly array: Nd;
  readonly dtype?: DType;
}

/** A test case of a primitive. */
export interface Case {
  readonly name: string;
  readonly operands: readonly Operand[];
  readonly run: (...x: Tensor[]) => Tensor;
  /** The result of NumPy. */
  readonly expected: (...x: Nd[]) => Nd;
  /** The number of times that it is differentiable at these inputs. */
  readonly smooth: 0 | 1 | 2;
}

export const floats = (
  shape: number[],
  seed: number,
  range: { low?: number; high?: number } = {},
): Operand => ({
  array: random(shape, seed, range),
});
export const whole = (dtype: DType, shape: number[], seed: number, low = -9, high = 9): Operand => ({
  array: random(shape, seed, { low, high, whole: true }),
  dtype,
});
export const bools = (shape: number[], seed: number): Operand => whole("bool", shape, seed, 0, 2);
/** Away from integers, where floor, abs and similar functions have kinks. */
export const awayFromKinks = (shape: number[], seed: number): Operand => ({
  array: map((x) => Math.floor(x) + 0.25 + 0.5 * (x - Math.floor(x)), random(shape, seed)),
});

export const shape = [3, 2, 5];

export function unary(
  name: keyof Tensor & string,
  f: (x: number) => number,
  smooth: 0 | 1 | 2 = 2,
  operand: Operand = floats(shape, 1),
): Case {
  return {
    name,
    operands: [operand],
    run: (x) => (x[name] as () => Tensor)(),
    expected: (x) => map(f, x),
    smooth,
  };
}

export function binary(
  name: keyof Tensor & string,
  f: (a: number, b: number) => number,
  smooth: 0 | 1 | 2 = 2,
  operands: readonly Operand[] = [floats(shape, 2), floats(shape, 3)],
): Case {
  return {
    name,
    operands,
    run: (a, b) => (a[name] as (b: Tensor) => Tensor)(b),
    expected: (a, b) => map(f, a, b),
    smooth,
  };
}

export const positive = floats(shape, 4, { low: 0.2, high: 3 });
export const integers = [whole("int32", shape, 5), whole("int32", shape, 6)];
export const unsigned = [whole("uint32", shape, 7, 0, 2 ** 32), whole("uint32", shape, 8, 0, 2 ** 32)];
export const flags = [bools(shape, 9), bools(shape, 10)];
export const mixed = [floats(shape, 11), floats([2, 5], 12)];
export const close = [whole("float32", shape, 13, 0, 3), whole("float32", shape, 14, 0, 3)];

export const roundToEven = (x: number) => {
  const nearest = Math.round(x);
  return nearest - x === 0.5 && nearest % 2 !== 0 ? nearest - 1 : nearest;
};
export const halves: Operand = {
  array: { shape: [8], values: [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.2, -3.7] },
};

/** The error function by Simpson's rule. */
export function erf(x: number): number {
  const steps = 2000, h = x / steps;
  let sum = 0;
  for (let i = 0; i <= steps; i++) {
    sum += (i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2) * Math.exp(-((i * h) ** 2));
  }
  return sum * h / 3 * 2 / Math.sqrt(Math.PI);
}

export function castCase(
  from: DType | undefined,
  to: DType,
  array: Nd,
  f: (x: number) => number,
  smooth: 0 | 2,
): Case {
  return {
    name: `cast from ${from ?? "float32"} to ${to}`,
    operands: [{ array, dtype: from }],
    run: (x) => x.cast(to),
    expected: (x) => map(f, x),
    smooth,
  };
}

/**
 * By default with elements whose largest and smallest, along any axes, differ by at least 0.04 from the next.
 */
export function reduceCase(
  name: "sum" | "max" | "min",
  axes: number[],
  f: (x: number[]) => number,
  operand: Operand = floats([4, 3, 5], 23),
): Case {
  return {
    name: `${name} along [${axes}] of ${operand.dtype ?? "float"}`,
    operands: [operand],
    run: (x) => x[name](axes),
    expected: (x) => reduce(x, axes, f),
    smooth: operand.dtype ? 0 : 2,
  };
}

/** A primitive with several operands that no tensor method applies. */
export function appliedCase(
  primitive: Elementwise,
  f: (...x: number[]) => number,
): Case {
  return {
    name: primitive.name,
    operands: Array.from({ length: f.length }, (_, i) => floats(shape, 50 + i)),
    run: (...x) => apply(primitive, x, undefined),
    expected: (...x) => map(f, ...x),
    smooth: 2,
  };
}

export const total = (x: number[]) => x.reduce((sum, value) => sum + value, 0);
export const largest = (x: number[]) => Math.max(...x);
export const smallest = (x: number[]) => Math.min(...x);

export function argCase(name: "argmax" | "argmin", axis: number, operand: Operand): Case {
  const best = name === "argmax" ? largest : smallest;
  return {
    name: `${name} along ${axis} of ${operand.dtype ?? "float"}`,
    operands: [operand],
    run: (x) => x[name](axis),
    expected: (x) => reduce(x, [axis], (values) => values.indexOf(best(values))),
    smooth: 0,
  };
}

/** Positions that sort the rows of `(rows, length)`. Other operands are joined to rows first. */
export function sortCase(descending: boolean, operand: Operand): Case {
  const rowsOf = ({ shape, values }: Nd) => {
    const length = shape[shape.length - 1];
    return { shape: [values.length / length, length], values };
  };
  return {
    name: `argsort of ${operand.dtype ?? "float"} (${operand.array.shape})${
      descending ? ", descending" : ""
    }`,
    operands: [{ ...operand, array: rowsOf(operand.array) }],
    run: (x) => apply(sorting.argSort, [x], { descending }),
    expected(x) {
      const sign = descending ? -1 : 1;
      const order = Array.from({ length: x.shape[0] }, (_, row) => {
        const value = (i: number) => sign * at(x, [row, i]);
        return Array.from({ length: x.shape[1] }, (_, i) => i).sort((a, b) => value(a) - value(b));
      });
      return { shape: x.shape, values: order.flat() };
    },
    smooth: 0,
  };
}

function cumsum(x: Nd, axis: number): Nd {
  return build(x.shape, (position) => {
    let sum = 0;
    for (let i = 0; i <= position[axis]; i++) sum += at(x, position.map((p, j) => j === axis ? i : p));
    return sum;
  });
}

export function cumsumCase(axis: number, operand: Operand = floats([4, 3, 5], 21)): Case {
  return {
    name: `cumsum along ${axis} of ${operand.dtype ?? "float"}`,
    operands: [operand],
    run: (x) => x.cumsum(axis),
    expected: (x) => cumsum(x, axis),
    smooth: operand.dtype ? 0 : 2,
  };
}

export function matmulCase(a: number[], b: number[]): Case {
  return {
    name: `matmul (${a}) x (${b})`,
    operands: [floats(a, 22), floats(b, 23)],
    run: (a, b) => apply(linear.matmul, [a, b], undefined),
    expected: matmul,
    smooth: 2,
  };
}

/** Gaussian elimination without pivoting on a full matrix. */
function solveTridiagonal(lower: Nd, diagonal: Nd, upper: Nd, rhs: Nd): Nd {
  const [systems, n] = rhs.shape;
  const values: number[] = [];
  for (let s = 0; s < systems; s++) {
    const rows = Array.from({ length: n }, (_, i) =>
      Array.from(
        { length: n + 1 },
        (_, j) =>
          j === n
            ? at(rhs, [s, i])
            : j === i - 1
            ? at(lower, [s, i])
            : j === i
            ? at(diagonal, [s, i])
            : j === i + 1
            ? at(upper, [s, i])
            : 0,
      ));
    for (let pivot = 0; pivot < n; pivot++) {
      for (let row = 0; row < n; row++) {
        if (row === pivot) continue;
        const factor = rows[row][pivot] / rows[pivot][pivot];
        for (let j = pivot; j <= n; j++) rows[row][j] -= factor * rows[pivot][j];
      }
    }
    values.push(...rows.map((row, i) => row[n] / row[i]));
  }
  return { shape: rhs.shape, values };
}

export function tridiagonalCase(systems: number, bands: number, n: number): Case {
  return {
    name: `tridiagonal ${systems} systems, ${bands} matrices, n = ${n}`,
    operands: [
      floats([bands, n], 24, { low: -1, high: 1 }),
      floats([bands, n], 25, { low: 3, high: 5 }),
      floats([bands, n], 26, { low: -1, high: 1 }),
      floats([systems, n], 27),
    ],
    run: (...x) => apply(linear.tridiagonal, x, undefined),
    expected: solveTridiagonal,
    smooth: 2,
  };
}

/**
 * Runs one step after the other. For complex numbers, real and imaginary parts lie along the last axis but
 * one.
 */
export function recurrenceCase(a: number[], b: number[], axis: number, complex = false): Case {
  const expected = (a: Nd, b: Nd): Nd => {
    const places = new Map<string, number>();
    const value = (position: number[]): number => {
      const step = (i: number, part = position.at(-2)!) =>
        position.map((p, j) => j === axis ? p + i : complex && j === b.shape.length - 2 ? part : p);
      let sum = at(b, position);
      if (position[axis] === 0) return sum;
      const factor = (part: number) => at(a, step(-1, part));
      const before = (part: number) => places.get(`${step(-1, part)}`)!;
      if (!complex) sum += at(a, step(-1)) * places.get(`${step(-1)}`)!;
      else if (position.at(-2) === 0) sum += factor(0) * before(0) - factor(1) * before(1);
      else sum += factor(0) * before(1) + factor(1) * before(0);
      return sum;
    };
    // Earlier steps first.
    for (let i = 0; i < b.shape[axis]; i++) {
      for (const position of positions(b.shape)) {
        if (position[axis] === i) places.set(`${position}`, value(position));
      }
    }
    return build(b.shape, (position) => places.get(`${position}`)!);
  };
  return {
    name: `${complex ? "complex " : ""}recurrence (${a}) of (${b}) along ${axis}`,
    operands: [floats(a, 28, { low: -1, high: 1 }), floats(b, 29)],
    run: (...x) => apply(linear.linearRecurrence, x, { axis, complex }),
    expected,
    smooth: 2,
  };
}

export const rows: Operand = { array: { shape: [6], values: [2, 0, 0, 3, 2, 1] }, dtype: "int32" };
export const outside: Operand = { array: { shape: [4], values: [1, -1, 4, 0] }, dtype: "int32" };

export function gatherCase(indices: Operand, operand: Operand, missing: number): Case {
  return {
    name: `gather of ${operand.dtype ?? "float"} at ${indices.array.values}`,
    operands: [operand, indices],
    run: (x, indices) => apply(indexing.gather, [x, indices], undefined),
    expected: (x, indices) =>
      build([x.shape[0], indices.shape[0], x.shape[2]], ([o, i, k]) => {
        const index = indices.values[i];
        return index >= 0 && index < x.shape[1] ? at(x, [o, index, k]) : missing;
      }),
    smooth: operand.dtype || Number.isNaN(missing) ? 0 : 2,
  };
}

export function scatterCase(indices: Operand, updates: Operand): Case {
  return {
    name: `scatterAdd of ${updates.dtype ?? "float"} at ${indices.array.values}`,
    operands: [updates, indices],
    run: (updates, indices) => apply(indexing.scatterAdd, [updates, indices], { size: 4 }),
    expected: (updates, indices) =>
      build(
        [updates.shape[0], 4, updates.shape[2]],
        ([o, row, k]) =>
          total(indices.values.flatMap((index, i) => index === row ? [at(updates, [o, i, k])] : [])),
      ),
    smooth: updates.dtype ? 0 : 2,
  };
}

export const grid = { starts: [1, 3, 0], steps: [2, -1, 1] };
