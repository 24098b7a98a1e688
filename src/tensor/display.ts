/** Tensors in notebooks. */
import { type OutputTable, tableBundle } from "../charts/display.ts";
import type { MimeBundle } from "../charts/display_symbol.ts";
import { isCapturing } from "../device/capture.ts";
import type { TypedArray } from "../device/dtype.ts";
import { contiguousStrides } from "../device/shape.ts";
import { hasBuffer } from "../device/view.ts";
import { formatTensor, formatterOf, shownIndices } from "./format.ts";
import { Symbolic } from "./symbolic.ts";
import type { Tensor } from "./tensor.ts";

/**
 * A tensor as a table with its type, shape and device. The last axis is the columns, the other axes are the
 * rows. Large tensors are abbreviated as in NumPy. A tensor in a trace, or with released memory, has no table.
 */
export async function displayTensor(x: Tensor): Promise<MimeBundle> {
  const values = isReadable(x) ? await x.data() : undefined;
  const text = formatTensor(x, values);
  const [title] = text.split("\n", 1);
  const table = values && x.size > 0 ? tableOf(values, x) : { head: [], rows: [] };
  return tableBundle(text, { title, ...table });
}

function isReadable({ storage }: Tensor): boolean {
  if (storage instanceof Symbolic || isCapturing()) return false;
  return !hasBuffer(storage) || !storage.source.freed;
}

function tableOf(values: TypedArray, x: Tensor): OutputTable {
  const { shape } = x;
  const strides = contiguousStrides(shape);
  const format = formatterOf(values, x);
  if (shape.length === 0) return { head: [], rows: [[format(values[0]).trim()]] };
  const indices = shownIndices(shape);
  const columns = indices.at(-1)!;
  const rows = (axis: number, offset: number, name: readonly number[]): string[][] =>
    axis === shape.length - 1
      ? [[name.join(", "), ...columns.map((i) => i === "..." ? i : format(values[offset + i]).trim())]]
      : indices[axis].flatMap((i) =>
        i === "..."
          ? [[[...name, i].join(", "), ...columns.map(() => "...")]]
          : rows(axis + 1, offset + i * strides[axis], [...name, i])
      );
  return { head: ["", ...columns.map(String)], rows: rows(0, 0, []) };
}
