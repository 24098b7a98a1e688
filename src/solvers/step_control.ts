/**
 * How long a step may be: the norm of errors, the first step, the next one. As torchdiffeq's. (Hairer, Norsett, Wanner,
 * "Solving Ordinary Differential Equations I", section II.4.)
 */
import { peekHostValues } from "../tensor/host.ts";
import { scalar, type Tensor } from "../tensor/tensor.ts";
import type { Parts, PartsField } from "./embedded.ts";

/** What error a step may have: `atol + rtol |y|` in the root mean square over all elements. */
export interface Tolerances {
  readonly rtol: number;
  readonly atol: number;
}

/** Root mean square of each part relative to a scale; the largest counts. */
function norm(parts: Parts, scales: Parts): number {
  const values = parts.map((part, i) => Math.sqrt(readNumber(part.div(scales[i]).square().mean())));
  return values.some(Number.isNaN) ? NaN : Math.max(...values);
}

/** The value of a tensor of one element. @throws {Error} On a device that must be waited for. */
export function readNumber(x: Tensor): number {
  const values = peekHostValues(x);
  if (values) return values[0];
  throw new Error(
    "this method decides after each step how to go on (adaptive ones how long the next may be), but the state is on " +
      `${x.device.info.kind}, ` +
      'where nothing can be read without waiting: solve on the CPU, await init({ device: "cpu" }), or use a method of ' +
      "fixed steps, rk4 say, with a stepSize",
  );
}

/** A step's error in units of what is allowed: it is good enough up to 1. NaN where a state is not finite. */
export function errorRatio(error: Parts, before: Parts, after: Parts, { rtol, atol }: Tolerances): number {
  return norm(error, before.map((y, i) => y.abs().maximum(after[i].abs()).mul(rtol).add(atol)));
}

/** A guess of a good first step, from the sizes of the state, its slope and that slope's change. One evaluation. */
export function firstStep(
  f: PartsField,
  t: number,
  direction: number,
  y: Parts,
  slope: Parts,
  order: number,
  { rtol, atol }: Tolerances,
): number {
  const scales = y.map((part) => part.abs().mul(rtol).add(atol));
  const [size, speed] = [norm(y, scales), norm(slope, scales)];
  const trial = size < 1e-5 || speed < 1e-5 ? 1e-6 : 0.01 * size / speed;
  const moved = y.map((part, i) => part.add(slope[i].mul(direction * trial)));
  const later = f(scalar(t + direction * trial, y[0].dtype), moved);
  const change = norm(later.map((part, i) => part.sub(slope[i])), scales) / trial;
  const guess = speed <= 1e-15 && change <= 1e-15
    ? Math.max(1e-6, trial * 1e-3)
    : (0.01 / Math.max(speed, change)) ** (1 / order);
  return Math.min(100 * trial, guess);
}

/** By how much the next step is longer: less than one after a step that was not good enough. */
export function growth(ratio: number, order: number): number {
  const [safety, most, least] = [0.9, 10, 0.2];
  if (ratio === 0) return most;
  if (!Number.isFinite(ratio)) return least;
  return Math.min(most, Math.max(safety / ratio ** (1 / order), ratio < 1 ? 1 : least));
}
