import type { FastWeightModel } from "./along_control.ts";
import { fastWeightAlongControl, type FastWeightModelOptions } from "./fast_weight.ts";

/** Options of {@linkcode FastWeightCDE}. */
export interface FastWeightCDEOptions extends FastWeightModelOptions {
  /** Where keys come from; values come from the other. `"derivative"` by default. */
  keys?: "value" | "derivative" | "derivative only";
}

/**
 * The controlled differential equations (Irie et al., 2022, section 3.2): keys and values come from x(s) and x'(s). See
 * {@linkcode FastWeight} for shapes.
 *
 * | `keys` | keys, rates, query | values | W is queried | in the paper with |
 * | --- | --- | --- | --- | --- |
 * | `"value"` | x | x' | transposed | Hebb, Oja |
 * | `"derivative"` | x' | x | as it is | Delta; Hebb with the roles exchanged |
 * | `"derivative only"` | x' | x' | as it is | all three rules |
 *
 * @example
 * ```ts
 * import { CubicSpline, FastWeightCDE, key, naturalCubicCoeffs, normal, oja } from "@weft/weft";
 *
 * const X = new CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 50, 3])));
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2, layers: 2 };
 * const model = FastWeightCDE({ ...sizes, rule: oja(), keys: "value", key: key(1) });
 * model(X, { states: "all" }).shape; // (8, 50, 2)
 * ```
 */
export function FastWeightCDE(options: FastWeightCDEOptions): FastWeightModel {
  const { keys = "derivative", ...rest } = options;
  return fastWeightAlongControl("FastWeightCDE", {
    ...rest,
    keysFrom: keys === "value" ? "value" : "derivative",
    valuesFrom: keys === "derivative" ? "value" : "derivative",
    transposeQuery: keys === "value",
  });
}
