/** Pointers to rows or columns that a kernel reads side by side. */
import type { FunctionBuilder, Local, Operand } from "../assembler/wasm.ts";

/**
 * Sets pointers to addresses a stride apart, from `first` on.
 *
 * @param count Number of lines, if there may be fewer than pointers: the others repeat the last line.
 */
export function setPointers(
  f: FunctionBuilder,
  pointers: readonly Local[],
  first: Local,
  stride: Operand,
  count?: Local,
): void {
  pointers.forEach((pointer, i) => {
    if (i === 0) return f.set(pointer, first);
    const distance = count === undefined
      ? stride
      : () => f.op("select", stride, () => f.address(0), () => f.op("i32.gt_s", count, i));
    f.set(pointer, () => f.op("address.add", pointers[i - 1], distance));
  });
}
