/** Products of tensors by a native library. The module is loaded only if the user requests a library. */
import { collapse, forEachPosition } from "../../collapse.ts";
import type { BufferView } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import { addressOf } from "../assembler/address.ts";

/** A row-major matrix in memory. */
export interface BlasMatrix {
  /** In bytes. */
  readonly address: number;
  /** Whether the memory contains the transposed matrix. */
  readonly isTransposed: boolean;
  /** Elements between rows in memory: at least the length of a row. */
  readonly rowStride: number;
}

/** A native library that works on the memory of a device. */
export interface NativeLibrary {
  /** Name and version of the library. */
  readonly description: string;
  /** (m, k) x (k, n) into a contiguous matrix. */
  multiply(
    dtype: "float32" | "float64",
    shape: { readonly m: number; readonly n: number; readonly k: number },
    left: BlasMatrix,
    right: BlasMatrix,
    address: number,
  ): void;
}

/** Minimum rows, columns and terms of a product. Smaller products take as long as reading the matrix. */
const minLength = 24;
/** Minimum multiplications, because waking the library's threads takes time. */
const minProducts = 2 ** 22;

/** Strides of the matrices along their rows or columns, and along the sum. */
export interface ProductStrides {
  readonly aRow: number;
  readonly aDepth: number;
  readonly bDepth: number;
  readonly bColumn: number;
}

/** Products of tensors by a native library. */
export interface Blas {
  /** Name and version of the library. */
  readonly description: string;
  /**
   * A function that computes (..., m, k) x (..., k, n). Undefined if the product is small, or a matrix has an
   * unsupported layout.
   */
  product(
    matrices: readonly [BufferView, BufferView, BufferView],
    lengths: readonly [m: number, n: number, k: number],
    strides: ProductStrides,
  ): (() => void) | undefined;
}

/** Products of tensors by a library. */
export function nativeProducts(library: NativeLibrary): Blas {
  return { description: library.description, product: (...product) => nativeProduct(library, ...product) };
}

function nativeProduct(
  library: NativeLibrary,
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
      library.multiply(dtype, { m, n, k }, { ...left, address: x }, { ...right, address: y }, z);
    });
}

/** A matrix as rows in memory, or as rows of the transposed matrix. Undefined if rows overlap. */
function rowMajor(
  [rows, columns]: readonly [number, number],
  [row, column]: readonly [number, number],
): Omit<BlasMatrix, "address"> | undefined {
  if (column === 1 && row >= columns) return { isTransposed: false, rowStride: row };
  if (row === 1 && column >= rows) return { isTransposed: true, rowStride: column };
  return undefined;
}
