/** Loads and stores of vectors whose lanes belong to different lines, such as recurrences or systems. */
import type { FunctionBuilder, Local } from "./wasm.ts";

/** Layout of the lines of a vector in an operand: adjacent, shared by all lanes, or apart. */
export const enum Lanes {
  adjacent = 0,
  shared = 1,
  apart = 2,
}

/**
 * Layout of an operand whose lines are `stride` elements apart. @param full Whether every lane has a line.
 */
export function lanesOf(stride: number, full: boolean, isWritten: boolean): Lanes {
  if (stride === 0 && !isWritten) return Lanes.shared;
  return stride === 1 && full ? Lanes.adjacent : Lanes.apart;
}

/** Emits loads and stores of `groups` vectors with elements of `size` bytes. */
export function laneAccess(f: FunctionBuilder, size: 4 | 8, groups: number) {
  const lanes = 16 / size;
  const bits = 8 * size as 32 | 64;
  const lane = f.local("i32");
  const start = f.local("address");
  const address = (pointer: Local, at: Local) => () => f.op("address.add", pointer, at);
  return {
    /** Pointers to the line of each lane. A single pointer for adjacent and shared lines. */
    pointers: (kind: Lanes): Local[] => f.locals("address", kind === Lanes.apart ? groups * lanes : 1),
    /** Sets pointers to the lines from `line` on. Lanes beyond the last line repeat it. */
    place(pointers: readonly Local[], base: Local, stride: Local, line: Local, last: Local): void {
      pointers.forEach((pointer, i) => {
        f.set(lane, () => f.op("i32.add", line, i));
        f.set(lane, () => f.smaller(lane, last));
        f.set(pointer, () => f.op("address.add", base, () => f.op("address.mul", lane, stride)));
      });
    },
    /** Loads the elements `at` bytes from the start of each line. */
    load(kind: Lanes, pointers: readonly Local[], at: Local, vectors: readonly Local[]): void {
      if (kind === Lanes.adjacent) f.set(start, address(pointers[0], at));
      vectors.forEach((vector, group) => {
        if (kind === Lanes.adjacent) {
          f.set(vector, () => f.load("v128.load", start, 16 * group));
        } else if (kind === Lanes.shared) {
          f.set(vector, () => f.load(`v128.load${bits}_splat`, address(pointers[0], at)));
        } else {
          const first = group * lanes;
          f.set(vector, () => f.load(`v128.load${bits}_zero`, address(pointers[first], at)));
          for (let i = 1; i < lanes; i++) {
            f.set(
              vector,
              () => f.laneMemory(`v128.load${bits}_lane`, i, address(pointers[first + i], at), vector),
            );
          }
        }
      });
    },
    /** Stores elements, with the layout of {@linkcode load}. */
    store(kind: Lanes, pointers: readonly Local[], at: Local, vectors: readonly Local[]): void {
      if (kind === Lanes.adjacent) {
        f.set(start, address(pointers[0], at));
        return f.storeVectors(start, vectors);
      }
      vectors.forEach((vector, group) => {
        for (let i = 0; i < lanes; i++) {
          f.laneMemory(`v128.store${bits}_lane`, i, address(pointers[group * lanes + i], at), vector);
        }
      });
    },
  };
}
