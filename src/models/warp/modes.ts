import { chunkedFinalState, chunkedStates } from "./chunked.ts";
import { convolvedFinalState, convolvedStates } from "./convolution.ts";
import { type Feeding, type RollOut, rollOut } from "./autoregressive.ts";
import { cheapestMode, feedingCosts, modeCosts, type WARPMode } from "./cost.ts";
import type { Dynamics } from "./dynamics.ts";
import { rollOutByConvolution } from "./feeding_by_convolution.ts";
import type { Readout } from "./readout.ts";
import { recurrentFinalState, recurrentStates } from "./recurrent.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** A mode, or `"auto"` for the mode with the fewest operations. */
type WARPModeOption = WARPMode | "auto";

const modes: readonly WARPModeOption[] = ["auto", "recurrent", "chunked", "convolutional"];

/**
 * Throws if a mode cannot be used.
 *
 * @throws {RangeError} If the mode is unknown.
 * @throws {TypeError} If the mode requires linear steps, but weights are clipped.
 */
export function checkMode(mode: WARPModeOption, { clip }: Dynamics): void {
  if (!modes.includes(mode)) {
    throw new RangeError(`WARP: mode is "${mode}", expected one of ${modes.join(", ")}`);
  }
  if (clip !== undefined && mode !== "recurrent" && mode !== "auto") {
    throw new TypeError(
      `WARP: the ${mode} mode needs linear steps, and steps with clipWeights are not linear; ` +
        'use mode: "recurrent"',
    );
  }
}

/**
 * All states of a run, `(batch, T, D)`.
 *
 * @param start theta_0, `(batch, D)`, or `(1, D)` if all samples share it.
 * @param changes x_t - x_(t-1) for t = 1 ... T - 1: `(batch, T - 1, inputs)`.
 */
export function allStates(mode: WARPModeOption, dynamics: Dynamics, start: Tensor, changes: Tensor): Tensor {
  const [batch, steps] = changes.shape;
  const starts = start.broadcastTo([batch, start.shape[1]]);
  if (steps === 0) return starts.expandDims(1);
  const { chosen, doublings } = choose(mode, dynamics, start, changes, false);
  if (chosen === "recurrent") return recurrentStates(dynamics, starts, changes);
  if (chosen === "chunked") return chunkedStates(dynamics, starts, changes, doublings);
  return convolvedStates(dynamics, start, changes);
}

/** Only the last state of a run, `(batch, D)`. Arguments as for {@linkcode allStates}. */
export function finalState(mode: WARPModeOption, dynamics: Dynamics, start: Tensor, changes: Tensor): Tensor {
  const [batch, steps] = changes.shape;
  const starts = start.broadcastTo([batch, start.shape[1]]);
  if (steps === 0) return starts;
  const { chosen, doublings } = choose(mode, dynamics, start, changes, true);
  if (chosen === "recurrent") return recurrentFinalState(dynamics, starts, changes);
  if (chosen === "chunked") return chunkedFinalState(dynamics, start, changes, doublings);
  return convolvedFinalState(dynamics, start, changes);
}

/**
 * Runs a model that feeds back predictions: step by step, or by convolution if requested or cheaper.
 *
 * @param feeding `start` may be `(1, D)` if all samples share it.
 */
export function feed(mode: WARPModeOption, dynamics: Dynamics, readout: Readout, feeding: Feeding): RollOut {
  const { start, x } = feeding;
  const [batch, length] = x.shape;
  const [starts, size] = start.shape;
  const sizes = { batch, steps: length - 1, inputs: dynamics.input.shape[1], size, starts };
  const { recurrent, convolutional, block } = feedingCosts(dynamics.transition, sizes);
  const isCheaper = mode === "auto" ? convolutional < recurrent : mode === "convolutional";
  if (isCheaper && dynamics.clip === undefined) {
    return rollOutByConvolution(dynamics, readout, feeding, block);
  }
  return rollOut(dynamics, readout, { ...feeding, start: start.broadcastTo([batch, size]) });
}

function choose(mode: WARPModeOption, dynamics: Dynamics, start: Tensor, changes: Tensor, final: boolean) {
  const [batch, steps, inputs] = changes.shape;
  const [starts, size] = start.shape;
  if (dynamics.clip !== undefined) return { chosen: "recurrent", doublings: 0 };
  const costs = modeCosts(dynamics.transition, { batch, steps, inputs, size, starts, final });
  return { chosen: mode === "auto" ? cheapestMode(costs) : mode, doublings: costs.doublings };
}
