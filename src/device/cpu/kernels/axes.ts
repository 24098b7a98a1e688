/**
 * Lists of axes in a kernel's descriptor. Each entry, from the last axis to the first, has the length of the
 * axis and one stride per pointer. Strides count 32-bit words, or elements for pointers that count elements.
 * A kernel converts a row-major position to addresses with the list.
 */
import type { Walk } from "../../collapse.ts";
import type { FunctionBuilder, Local } from "../assembler/wasm.ts";

/**
 * Writes the axes of an iteration.
 *
 * @param sizes Words per element of each view.
 * @param skip Number of innermost axes to omit.
 * @returns The position after the list.
 */
export function writeAxes(
  words: Int32Array | number[],
  at: number,
  { shape, strides }: Walk,
  sizes: readonly number[],
  skip = 0,
): number {
  for (let axis = shape.length - 1 - skip; axis >= 0; axis--) {
    words[at++] = shape[axis];
    for (let view = 0; view < strides.length; view++) words[at++] = strides[view][axis] * sizes[view];
  }
  return at;
}

/**
 * Emits code that moves pointers to a position.
 *
 * @param list Variable with the address of the list, without `offset`.
 * @param count The number of axes.
 */
export function emitSeek(
  f: FunctionBuilder,
  list: Local,
  offset: number,
  count: Local,
  position: Local,
  pointers: readonly Local[],
): void {
  const [axes, rest, quotient, length] = f.locals("i32", 4);
  const axis = f.local("address");
  const advance = () =>
    pointers.forEach((pointer, i) => {
      const at = offset + 4 + 4 * i;
      f.increment(
        pointer,
        pointer.type === "address"
          ? () => f.op("address.mul", rest, () => f.loadDistance(axis, at))
          : () => f.op("i32.mul", rest, () => f.load("i32.load", axis, at)),
      );
    });
  f.set(axes, count);
  f.set(axis, list);
  f.set(rest, position);
  f.while(() => f.op("i32.gt_s", axes, 1), () => {
    f.set(length, () => f.load("i32.load", axis, offset));
    f.set(quotient, () => f.op("i32.div_u", rest, length));
    f.set(rest, () => f.op("i32.sub", rest, () => f.op("i32.mul", quotient, length)));
    advance();
    f.set(rest, quotient);
    f.increment(axis, 4 * (1 + pointers.length));
    f.increment(axes, -1);
  });
  // The remainder is the position on the first axis, without a division.
  f.if(axes, advance);
}
