/** Vectors whose lanes belong to different lines, such as systems or recurrences, which advance together. */
import type { FunctionBuilder, Local } from "./wasm.ts";

/** Layout of a vector's lines in an operand: next to each other, all at one place, or apart. */
export const enum Lanes {
  adjacent = 0,
  shared = 1,
  apart = 2,
}

/** The layout of an operand whose lines begin `stride` elements after one another; `full`, if no lane is without a line. */
export function lanesOf(stride: number, full: boolean, isWritten: boolean): Lanes {
  if (stride === 0 && !isWritten) return Lanes.shared;
  return stride === 1 && full ? Lanes.adjacent : Lanes.apart;
}

/** An emitter of loads and stores of `groups` vectors of elements of `size` bytes. */
export function laneAccess(f: FunctionBuilder, size: 4 | 8, groups: number) {
  const lanes = 16 / size;
  const bits = 8 * size as 32 | 64;
  const lane = f.local("i32");
  const start = f.local("address");
  const address = (pointer: Local, at: Local) => () => f.op("address.add", pointer, at);
  return {
    /** Pointers to the start of each lane's line; a single one where that is enough. */
    pointers: (kind: Lanes): Local[] => f.locals("address", kind === Lanes.apart ? groups * lanes : 1),
    /** Puts them at the lines from `line` on. Lanes beyond the last line repeat it. */
    place(pointers: readonly Local[], base: Local, stride: Local, line: Local, last: Local): void {
      pointers.forEach((pointer, i) => {
        f.set(lane, () => f.op("i32.add", line, i));
        f.set(lane, () => f.smaller(lane, last));
        f.set(pointer, () => f.op("address.add", base, () => f.op("address.mul", lane, stride)));
      });
    },
    /** Loads the elements that lie `at` bytes from the start of each line. */
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
    /** Stores what {@linkcode load} would load. */
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
