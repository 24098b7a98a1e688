import sortSource from "../../../../kernels/radix_sort.wgsl" with { type: "text" };
import { type Gpu, type MemoryView, workgroupSize } from "../gpu.ts";
import { type Binding, kernelSource, storageType } from "../kernel.ts";
import { cumulativeSum } from "./recurrence.ts";
import { operationsPerWord } from "../submission_budget.ts";

/** Bits of a digit. */
const digitBits = 4;
/** Positions per invocation. */
const blockLength = 64;

/** Sort keys of the positions: unsigned numbers. */
export interface SortKey {
  /** Name of the kernels. */
  readonly name: string;
  /** The memory that `text` reads as the array `keys`. */
  readonly view: MemoryView;
  /** WGSL of `fn key_of(position: u32) -> u32`. It can read `keys`, `params.keys_offset` and `params.argument`. */
  readonly text: string;
  /** Value of `params.argument`. */
  readonly argument: number;
  /** The largest key. */
  readonly largest: number;
}

/**
 * Sorts the positions 0 to count - 1 by their keys. Positions with equal keys keep their order.
 *
 * @param keys The least significant key first.
 * @param output Sorted positions, modulo `modulus`. With the length of a row, they count from the start of the row.
 */
export function sortPositions(
  gpu: Gpu,
  count: number,
  keys: readonly SortKey[],
  output: MemoryView,
  modulus = count,
): void {
  const passes = keys.flatMap((key) => {
    const shifts = [];
    for (let shift = 0; key.largest >= 2 ** shift; shift += digitBits) shifts.push(shift);
    return shifts.map((shift) => ({ key, shift }));
  });
  const blocks = Math.ceil(count / blockLength);
  let [from, to] = [0, 1].map(() => gpu.temporary([count], "int32"));
  const temporaries = [from, to];
  const [counts, ends] = [0, 1].map(() => gpu.temporary([2 ** digitBits * blocks], "int32"));
  passes.forEach(({ key, shift }, pass) => {
    const isLast = pass === passes.length - 1;
    const target = isLast ? output : to;
    const run = (entryPoint: "count_digits" | "move_positions", table: MemoryView) =>
      gpu.run({
        key: `${entryPoint} ${key.name}`,
        source: () => {
          const type = storageType(key.view.dtype);
          const bindings: Binding[] = [{ name: "keys", type, access: "read" }, ...sortBindings];
          return kernelSource(
            entryPoint,
            bindings,
            sortParams,
            [constants, key.text, sortSource],
            { entryPoint },
          );
        },
        buffers: [key.view.memory, from.memory, table.memory, target.memory],
        words: [
          ...[count, blocks, shift, pass === 0 ? 1 : 0, key.view.offset, key.argument],
          ...[target.offset, isLast ? modulus : count],
        ],
        workgroups: gpu.workgroupsFor(blocks),
        // A position, its key and the result; and the counts of the digits of a block.
        operations: operationsPerWord * (3 * count + 2 ** digitBits * blocks),
        shapes: [key.view.shape],
      });
    run("count_digits", counts);
    cumulativeSum(gpu, counts, 0, ends);
    run("move_positions", ends);
    [from, to] = [to, from];
  });
  for (const { memory } of [...temporaries, counts, ends]) gpu.pool.release(memory);
}

const sortParams = [
  ...["count", "blocks", "shift", "is_first", "keys_offset", "argument", "output_offset", "modulus"],
];
const sortBindings: readonly Binding[] = [
  { name: "input", type: "i32", access: "read" },
  { name: "counts", type: "i32", access: "read_write" },
  { name: "output", type: "i32", access: "read_write" },
];
const constants = `
const invocations = ${workgroupSize};
const block_length = ${blockLength}u;
const digits = ${2 ** digitBits}u;
`;
