/** Programs of loops, each lowered once. */
import { sizeOf } from "../../device/shape.ts";
import { lower } from "../program/lower/lower.ts";
import type { Lowered } from "../program/lower/values.ts";
import { Uncompilable } from "../trace/uncompilable.ts";
import type { HoistedLoop } from "./hoisted_loop.ts";

/** Maximum elements of a state that one lane computes alone. */
const maxSampleSize = 4096;

const programs = new WeakMap<HoistedLoop, Lowered>();

/**
 * The program of one sample. The number of samples is the length of the first axis of the states. If samples mix and the
 * state is small, the whole state is one sample.
 *
 * @throws {Uncompilable} If an operation has no kernel, or samples of a large state mix.
 */
export function loweredOf(loop: HoistedLoop): Lowered {
  let lowered = programs.get(loop);
  if (!lowered) programs.set(loop, lowered = lowerLoop(loop));
  return lowered;
}

function lowerLoop(loop: HoistedLoop): Lowered {
  const { state } = loop.graph;
  const [batch = 1] = state[0].shape;
  if (batch > 1 && state.every(({ shape }) => shape[0] === batch)) {
    try {
      return lower(loop, batch);
    } catch (error) {
      const isLarge = state.some(({ shape }) => sizeOf(shape) > maxSampleSize);
      if (!(error instanceof Uncompilable) || isLarge) throw error;
    }
  }
  return lower(loop, 1);
}
