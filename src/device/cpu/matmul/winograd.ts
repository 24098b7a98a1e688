/**
 * Seven products of blocks in the place of eight: Strassen, "Gaussian elimination is not optimal" (1969), in Winograd's form.
 * The sums of blocks that are multiplied, and those of products that are blocks of the result, are data.
 *
 * Relative to the result, products of random matrices of 2,048 to 4,898 terms have a root mean square error of 9.5e-7; by eight
 * products it is 3.5e-7. The largest error over terms * max|A| * max|B| * 2^-24 is 0.05 for normal numbers (by eight 0.02), 0.6
 * for uniform ones in (-1, 1) (0.2) and 1.9 in (0, 1) (2.0).
 *
 * Sums mix rows, and columns, so that an error would be relative to the largest ones, not to its own. Rows of the left matrix and
 * columns of the right one are therefore divided by powers of two, which makes them about equally large (the "outside scaling"
 * of Ballard et al., "Improving the numerical stability of fast matrix multiplication", 2016): a small sample keeps its digits
 * beside a large one, and one that is not finite spoils itself alone.
 */
import type { BufferView } from "../../device.ts";
import {
  add,
  and,
  bitcast,
  constant,
  div,
  eq,
  identity,
  lt,
  mul,
  type Scalar,
  type ScalarFunction,
  select,
  sub,
} from "../../scalar.ts";
import { sameShape, swapLast } from "../../shape.ts";
import { allocateView, transposed } from "../../view.ts";
import type { CpuDevice } from "../device.ts";

/** Signs of the blocks 11, 12, 21, 22 in each factor, or of the products in each block. */
type Signs = readonly (readonly (-1 | 0 | 1)[])[];

/** The left factors of the products. */
const leftSigns: Signs = [
  [1, 0, 0, 0],
  [0, 1, 0, 0],
  [1, 1, -1, -1],
  [0, 0, 0, 1],
  [0, 0, 1, 1],
  [-1, 0, 1, 1],
  [1, 0, -1, 0],
];
/** The right factors. */
const rightSigns: Signs = [
  [1, 0, 0, 0],
  [0, 0, 1, 0],
  [0, 0, 0, 1],
  [1, -1, -1, 1],
  [-1, 1, 0, 0],
  [1, -1, 0, 1],
  [0, -1, 0, 1],
];
/** The blocks of the result. */
const resultSigns: Signs = [
  [1, 1, 0, 0, 0, 0, 0],
  [1, 0, 1, 0, 1, 1, 0],
  [1, 0, 0, -1, 0, 1, 1],
  [1, 0, 0, 0, 1, 1, 1],
];

/** A matrix's factors of the seven products. */
export interface Factors {
  /** `(7, rows / 2, columns / 2)`, rounded up. */
  readonly factors: BufferView;
  /** What the rows of the result are multiplied by (of a left matrix), or its columns: `(rows, columns)`, repeated. */
  readonly scale: BufferView;
}

/** The left factors with a matrix `(m, k)`. */
export function leftFactors(device: CpuDevice, matrix: BufferView): Factors {
  return factorsOf(device, leftSigns, matrix, (view) => view);
}

/** The right factors with a matrix `(k, n)`. */
export function rightFactors(device: CpuDevice, matrix: BufferView): Factors {
  return factorsOf(device, rightSigns, matrix, transposed);
}

/** The result `(m, n)` of the products `(7, m / 2, n / 2)`. */
export function joinProducts(
  device: CpuDevice,
  products: BufferView,
  scales: readonly BufferView[],
  output: BufferView,
): void {
  const blocks = scales.map((scale) => blocksOf({ ...scale, shape: output.shape }));
  blocksOf(output).forEach((block, i) => {
    const terms = resultSigns[i].map((_, j) => ({ view: { ...entry(products, j), shape: block.shape } }));
    addUp(device, resultSigns[i], terms, block, blocks.map((scale) => scale[i]));
  });
}

/** A summand, and what it is multiplied by. */
interface Term {
  readonly view: BufferView;
  readonly scale?: BufferView;
}

/** @param asRows Takes a matrix so that the rows are what its scale belongs to. */
function factorsOf(
  device: CpuDevice,
  signs: Signs,
  matrix: BufferView,
  asRows: (view: BufferView) => BufferView,
): Factors {
  const even = filledUp(device, matrix);
  const [scale, inverse] = rowScales(device, asRows(even)).map(asRows);
  const inverses = blocksOf(inverse);
  const terms = blocksOf(even).map((view, i) => ({ view, scale: inverses[i] }));
  const factors = allocateLike(device, [signs.length, ...terms[0].view.shape], even);
  signs.forEach((own, i) => addUp(device, own, terms, entry(factors, i)));
  inverse.source.free();
  if (even !== matrix) even.source.free();
  return { factors, scale };
}

/** The sum of terms with signs, times scales. */
function addUp(
  device: CpuDevice,
  signs: Signs[number],
  terms: readonly Term[],
  output: BufferView,
  scales: readonly BufferView[] = [],
): void {
  const chosen = terms.map((term, i) => ({ ...term, sign: signs[i] })).filter(({ sign }) => sign !== 0)
    .toSorted((a, b) => b.sign - a.sign);
  const build = (...inputs: Scalar[]) => {
    const values = chosen.map(({ scale }) => {
      const value = inputs.shift()!;
      return scale ? scaled(value, inputs.shift()!) : value;
    });
    const sum = values.reduce((sum, value, i) => (chosen[i].sign > 0 ? add : sub)(sum, value));
    return inputs.reduce((product, scale) => mul(product, scale), sum);
  };
  const views = [...chosen.flatMap(({ view, scale }) => scale ? [view, scale] : [view]), ...scales];
  const name = `${scales.length > 0 ? "result" : "factor"}, sum of ${chosen.map(({ sign }) => sign)}`;
  const order = inOrderOf(output);
  device.map({ name, build }, views.map(order), order(output));
}

/** Whatever the value, zero where its row is not finite. */
function scaled(value: Scalar, inverse: Scalar): Scalar {
  return select(eq(inverse, 0), 0, mul(value, inverse));
}

/** The power of two that a row is divided by, from the row's largest absolute value; NaN where that is not finite. */
const powerOfTwo: ScalarFunction = {
  name: "power of two of a row",
  build: (size) => {
    const power = bitcast(and(bitcast(size, "int32"), constant(0x7f800000, "int32")), "float32");
    return select(lt(size, Infinity), select(eq(power, 0), 1, power), NaN);
  },
};

/** Its inverse, or 0. */
const inversePower: ScalarFunction = {
  name: "inverse power of two of a row",
  build: (power) => select(eq(power, power), div(1, power), 0),
};

/** What the rows of a matrix are divided by, so that they are about as large as one, and its inverse: `(rows, columns)`, repeated. */
function rowScales(device: CpuDevice, matrix: BufferView): BufferView[] {
  const [size, scale, inverse] = Array.from(
    { length: 3 },
    () => allocateView(device, [matrix.shape[0], 1], matrix.dtype),
  );
  device.reduce("maxAbs", matrix, size);
  device.map(powerOfTwo, [size], scale);
  device.map(inversePower, [scale], inverse);
  size.source.free();
  return [scale, inverse].map((view) => ({ ...view, shape: matrix.shape, strides: [1, 0] }));
}

/** Views as they are taken so that the elements of one are in the order in which they lie in memory. */
function inOrderOf({ strides }: BufferView): (view: BufferView) => BufferView {
  return strides.at(-1)! > strides.at(-2)! ? transposed : (view) => view;
}

function entry({ shape, strides, offset, ...view }: BufferView, i: number): BufferView {
  return { ...view, shape: shape.slice(1), strides: strides.slice(1), offset: offset + i * strides[0] };
}

/** The four blocks of a matrix, of which the first is the largest. */
function blocksOf({ shape, strides, offset, ...view }: BufferView): BufferView[] {
  const [rows, columns] = shape.map((length) => Math.ceil(length / 2));
  return [0, rows].flatMap((row) =>
    [0, columns].map((column) => ({
      ...view,
      shape: [row ? shape[0] - rows : rows, column ? shape[1] - columns : columns],
      strides,
      offset: offset + row * strides[0] + column * strides[1],
    }))
  );
}

/** The matrix with a row and a column of zeros behind it where their numbers are odd. */
function filledUp(device: CpuDevice, matrix: BufferView): BufferView {
  const even = matrix.shape.map((length) => length + length % 2);
  if (sameShape(even, matrix.shape)) return matrix;
  const filled = allocateLike(device, even, matrix);
  const order = inOrderOf(filled);
  device.clear(order(filled));
  device.map(identity, [order(matrix)], order({ ...filled, shape: matrix.shape }));
  return filled;
}

/** Fresh memory, whose columns are contiguous where those of a matrix are. */
function allocateLike(
  device: CpuDevice,
  shape: readonly number[],
  { strides, dtype }: BufferView,
): BufferView {
  const [row, column] = strides.slice(-2);
  if (row >= column) return allocateView(device, shape, dtype);
  return transposed(allocateView(device, swapLast(shape), dtype));
}
