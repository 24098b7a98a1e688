/** Gather and scatter-add of rows of contiguous arrays. */
import type { BufferView } from "../../device.ts";
import { bytesPerElement, type DType, isFloat } from "../../dtype.ts";
import { addressOf } from "../assembler/address.ts";
import { addTask } from "../runtime/executable.ts";
import { descriptorWords, type Kernels, tasksFor } from "./kernels.ts";
import type { FunctionBuilder, Local, ModuleBuilder, Opcode, ValueType } from "../assembler/wasm.ts";

/** Positions in the descriptor. `row` is the length of a row. Addresses and lengths count 32-bit words. */
const word = { input: 0, indices: 1, output: 2, size: 3, count: 4, row: 5, tasks: 6, outer: 7 } as const;

/** Bytes per task: about ten microseconds. */
const bytesPerTask = 2 ** 16;

/** output[o, i, :] = input[o, indices[i], :]. */
export function gather(kernels: Kernels, input: BufferView, indices: BufferView, output: BufferView): void {
  const rows = input.shape[0] * indices.shape[0];
  const bytes = rows * input.shape[2] * bytesPerElement(output.dtype);
  launch(
    kernels,
    "gather",
    [input, indices, output],
    input.shape,
    Math.min(rows || 1, tasksFor(bytes, bytesPerTask)),
  );
}

/** output[o, indices[i], :] += updates[o, i, :], in the order of i. */
export function scatterAdd(
  kernels: Kernels,
  updates: BufferView,
  indices: BufferView,
  output: BufferView,
): void {
  launch(kernels, "scatterAdd", [updates, indices, output], output.shape, 1);
}

function launch(
  kernels: Kernels,
  name: "gather" | "scatterAdd",
  views: readonly [input: BufferView, indices: BufferView, output: BufferView],
  [outer, size, inner]: readonly number[],
  tasks: number,
): void {
  const [input, indices, output] = views.map((view) => addressOf(view) / 4);
  const { dtype } = views[2];
  const [count, row] = [views[1].shape[0], inner * bytesPerElement(dtype) / 4];
  const description = descriptorWords(word, { input, indices, output, size, count, row, tasks, outer });
  kernels.run(`indexing ${dtype}`, (module) => emitIndexing(module, dtype), name, tasks, description);
}

function emitIndexing(module: ModuleBuilder, dtype: DType): void {
  const size = bytesPerElement(dtype);
  const scalar: ValueType = isFloat(dtype) ? `f${8 * size as 32 | 64}` : "i32";
  const vector = isFloat(dtype) ? `f${8 * size}x${16 / size}` : "i32x4";
  const [loadOne, storeOne] = [`${scalar}.load`, `${scalar}.store`] as Opcode[];

  /**
   * Runs `body` for each index, with the addresses of a row of the input and a row of the output, and the end
   * of the latter.
   */
  const emitRows = (
    name: string,
    readsAtIndex: boolean,
    body: (f: FunctionBuilder, row: { from: Local; to: Local; end: Local; isInside: Local }) => void,
  ) => {
    const { f, task, word: read, address, distance } = addTask(module, name);
    const [input, indices, output] = [word.input, word.indices, word.output].map(address);
    const [from, to, end] = f.locals("address", 3);
    const rowBytes = distance(word.row);
    const [sizeOfAxis, count, tasks, rows] = [word.size, word.count, word.tasks, word.outer].map(read);
    const [row, rowEnd, index, outer, position, isInside] = f.locals("i32", 6);
    f.set(rows, () => f.op("i32.mul", rows, count));
    f.set(
      rowEnd,
      () => f.op("i32.div_u", () => f.op("i32.add", rows, () => f.op("i32.sub", tasks, 1)), tasks),
    );
    f.set(row, () => f.op("i32.mul", task, rowEnd));
    f.set(rowEnd, () => f.op("i32.add", row, rowEnd));
    f.set(rowEnd, () => f.smaller(rowEnd, rows));
    f.if(count, () => {
      f.set(outer, () => f.op("i32.div_u", row, count));
      f.set(position, () => f.op("i32.sub", row, () => f.op("i32.mul", outer, count)));
    });
    f.while(() => f.op("i32.lt_u", row, rowEnd), () => {
      f.set(
        index,
        () => f.load("i32.load", () => f.op("address.add", indices, () => f.op("address.mul", position, 4))),
      );
      // Unsigned, so that negative positions are out of range too.
      f.set(isInside, () => f.op("i32.lt_u", index, sizeOfAxis));
      f.set(index, () => f.op("i32.add", index, () => f.op("i32.mul", outer, sizeOfAxis)));
      f.set(
        from,
        () => f.op("address.add", input, () => f.op("address.mul", rowBytes, readsAtIndex ? index : row)),
      );
      f.set(
        to,
        () => f.op("address.add", output, () => f.op("address.mul", rowBytes, readsAtIndex ? row : index)),
      );
      f.set(end, () => f.op("address.add", to, rowBytes));
      body(f, { from, to, end, isInside });
      f.increment(row, 1);
      f.increment(position, 1);
      f.if(() => f.op("i32.eq", position, count), () => {
        f.set(position, 0);
        f.increment(outer, 1);
      });
    });
  };
  /** Full vectors, then the remaining elements. */
  const emitElements = (f: FunctionBuilder, { from, to, end }: Record<"from" | "to" | "end", Local>, steps: {
    vector: () => void;
    element: () => void;
  }) => {
    const advance = (bytes: number) => {
      f.increment(from, bytes);
      f.increment(to, bytes);
    };
    f.while(() => f.op("address.ge_s", () => f.op("address.sub", end, to), 16), () => {
      steps.vector();
      advance(16);
    });
    f.while(() => f.op("address.ne", to, end), () => {
      steps.element();
      advance(size);
    });
  };

  emitRows("gather", true, (f, row) => {
    const { from, to } = row;
    f.if(row.isInside, () =>
      emitElements(f, row, {
        vector: () => f.store("v128.store", to, () => f.load("v128.load", from)),
        element: () => f.store(storeOne, to, () => f.load(loadOne, from)),
      }), () => {
      const missing = () => scalar === "f32" ? f.f32(NaN) : scalar === "f64" ? f.f64(NaN) : f.i32(0);
      f.while(() => f.op("address.ne", to, row.end), () => {
        f.store(storeOne, to, missing);
        f.increment(to, size);
      });
    });
  });
  emitRows("scatterAdd", false, (f, row) => {
    const { from, to } = row;
    f.if(row.isInside, () =>
      emitElements(f, row, {
        vector: () =>
          f.store("v128.store", to, () =>
            f.op(`${vector}.add` as Opcode, () =>
              f.load("v128.load", to), () =>
              f.load("v128.load", from))),
        element: () =>
          f.store(storeOne, to, () =>
            f.op(`${scalar}.add` as Opcode, () =>
              f.load(loadOne, to), () =>
              f.load(loadOne, from))),
      }));
  });
}
