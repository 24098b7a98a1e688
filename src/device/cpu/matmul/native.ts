/** Products that a native library computes, where the user has asked for one. */
import { collapse, forEachPosition } from "../../collapse.ts";
import type { BufferView } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import { addressOf } from "../assembler/address.ts";
import type { Blas, BlasMatrix } from "./blas.ts";

/** Rows, columns and terms of the smallest product that is worth a call: a thinner one takes as long as its matrix is read. */
const minLength = 24;
/** Its multiplications: the library's threads have to be woken. */
const minProducts = 2 ** 22;

/** Strides of a product's matrices along their own axis, and along the sum. */
export interface ProductStrides {
  readonly aRow: number;
  readonly aDepth: number;
  readonly bDepth: number;
  readonly bColumn: number;
}

/** A call that computes (..., m, k) x (..., k, n), if the product is large and its matrices lie as the library takes them. */
export function nativeProduct(
  blas: Blas,
  [a, b, output]: readonly [BufferView, BufferView, BufferView],
  [m, n, k]: readonly [number, number, number],
  { aRow, aDepth, bDepth, bColumn }: ProductStrides,
): (() => void) | undefined {
  if (Math.min(m, n, k) < minLength || m * n * k < minProducts) return undefined;
  const left = rowMajor([m, k], [aRow, aDepth]);
  const right = rowMajor([k, n], [bDepth, bColumn]);
  if (!left || !right) return undefined;
  const views = [a, b, output];
  const walk = collapse(output.shape.slice(0, -2), views.map(({ strides }) => strides.slice(0, -2)));
  const addresses = views.map(addressOf);
  const size = bytesPerElement(output.dtype);
  return () =>
    forEachPosition(walk, (offsets) => {
      const [x, y, z] = addresses.map((address, i) => address + offsets[i] * size);
      const dtype = output.dtype as "float32" | "float64";
      blas.multiply(dtype, { m, n, k }, { ...left, address: x }, { ...right, address: y }, z);
    });
}

/** A matrix as the rows that lie in memory, its own or those of the transposed one; nothing if they overlap. */
function rowMajor(
  [rows, columns]: readonly [number, number],
  [row, column]: readonly [number, number],
): Omit<BlasMatrix, "address"> | undefined {
  if (column === 1 && row >= columns) return { isTransposed: false, rowStride: row };
  if (row === 1 && column >= rows) return { isTransposed: true, rowStride: column };
  return undefined;
}
