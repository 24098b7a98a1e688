/** Units of work: blocks of rows and columns of a product. */
import { emitSeek } from "../kernels/axes.ts";
import type { TaskBuilder } from "../runtime/executable.ts";
import type { Local } from "../assembler/wasm.ts";
import { word } from "./descriptor.ts";
import type { Vectors } from "./tile.ts";

/** Emits the loop over the units of a task, with rows, columns and addresses of each unit. */
export function emitUnits(
  { f, task, descriptor }: TaskBuilder,
  { size }: Vectors,
  read: (name: keyof typeof word) => Local,
  body: (unit: { a: Local; b: Local; c: Local; rows: Local; columns: Local }) => void,
): void {
  const [m, n, rowUnits, columnUnits] = [read("m"), read("n"), read("rowUnits"), read("columnUnits")];
  const [rowsPerUnit, columnsPerUnit] = [read("rowsPerUnit"), read("columnsPerUnit")];
  const [aRowStride, bColumnStride] = [read("aRowStride"), read("bColumnStride")];
  const [cRowStride, batchAxes] = [read("cRowStride"), read("batchAxes")];
  const unit = read("unitsPerTask");
  const unitEnd = read("units");
  const [last, batch, rest, rows, columns] = f.locals("i32", 5);
  const [a, b, c] = f.locals("address", 3);
  f.set(last, () => f.op("i32.add", () => f.op("i32.mul", task, unit), unit));
  f.set(unitEnd, () => f.smaller(unitEnd, last));
  f.set(unit, () => f.op("i32.mul", task, unit));
  f.while(() => f.op("i32.lt_u", unit, unitEnd), () => {
    f.set(a, () => f.loadAddress(descriptor, 4 * word.a));
    f.set(b, () => f.loadAddress(descriptor, 4 * word.b));
    f.set(c, () => f.loadAddress(descriptor, 4 * word.c));
    f.set(rest, () => f.op("i32.div_u", unit, columnUnits));
    f.set(
      columns,
      () =>
        f.op(
          "i32.mul",
          columnsPerUnit,
          () => f.op("i32.sub", unit, () => f.op("i32.mul", rest, columnUnits)),
        ),
    );
    f.set(batch, () => f.op("i32.div_u", rest, rowUnits));
    f.set(
      rows,
      () => f.op("i32.mul", rowsPerUnit, () => f.op("i32.sub", rest, () => f.op("i32.mul", batch, rowUnits))),
    );
    emitSeek(f, descriptor, 4 * word.axes, batchAxes, batch, [a, b, c]);
    f.increment(a, () => f.op("address.mul", rows, aRowStride));
    f.increment(b, () => f.op("address.mul", columns, bColumnStride));
    f.increment(c, () => f.op("address.mul", rows, cRowStride));
    f.increment(c, () => f.op("address.mul", columns, size));
    f.set(rows, () => f.op("i32.sub", m, rows));
    f.set(rows, () => f.smaller(rows, rowsPerUnit));
    f.set(columns, () => f.op("i32.sub", n, columns));
    f.set(columns, () => f.smaller(columns, columnsPerUnit));
    body({ a, b, c, rows, columns });
    f.increment(unit, 1);
  });
}
