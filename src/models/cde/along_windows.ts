/** Models along log-signatures of windows. */
import type { Layer } from "../../nn/layer.ts";
import type { Path } from "../../paths/path.ts";
import { rdeint } from "../../solvers/rdeint.ts";
import {
  type AlongControlOptions,
  controlModel,
  type Equation,
  type EquationCallOptions,
} from "../along_control.ts";
import type { ReadoutOptions } from "../readout_states.ts";
import type { StaticFeaturesCallOptions } from "../static_features.ts";

/**
 * A model along windows. It maps a path to `(batch, outputChannels)`, or to `(batch, windows + 1,
 * outputChannels)` for all states. It has no streams, because the log-signature of a window is not known before
 * the end of the window.
 */
export type WindowedModel<Call = ReadoutOptions & StaticFeaturesCallOptions> = Layer<
  [X: Path, options?: Call]
>;

/** Makes a model of an equation that reads the log-signature of each window as the derivative of its control. */
export function alongWindows(
  name: string,
  options: AlongControlOptions,
  equation: Equation,
): WindowedModel<EquationCallOptions> {
  return controlModel(
    name,
    options,
    equation,
    (X, slope, y0, times, options) =>
      rdeint(X, (logsignature, y) => slope(() => logsignature, y), y0, times, options),
  ).model;
}
