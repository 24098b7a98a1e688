import { checkOptions } from "../../device/options.ts";
import { alongControl } from "../along_control.ts";
import { fastWeightEquation } from "./fast_weight.ts";
import { type FastWeightModel, fastWeightModelOptionNames, type FastWeightModelOptions } from "./options.ts";

/**
 * The direct neural ODE (Irie et al., 2022, section 3.1, equations 18 to 21 and 28 to 32). Keys, values and
 * learning rates all come from x(s), the query from x at the end. See {@linkcode FastWeight} for shapes.
 *
 * | rule | dW/ds for each head |
 * | --- | --- |
 * | `hebbRule()` | sigma(beta) v (x) k |
 * | `ojaRule()` | sigma(beta) v (x) (k - W^T v) |
 * | `deltaRule()` | sigma(beta) (v - W k) (x) k |
 *
 * with k = softmax(k), v = tanh(v). (Equation 21 writes Hebb's factors as k (x) v, but W is values by keys in
 * both places.)
 *
 * @example
 * ```ts
 * import { CubicSpline, deltaRule, FastWeightODE, key, naturalCubicCoeffs, normal } from "@weft/weft";
 *
 * const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 50, 3])));
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2 };
 * const model = FastWeightODE({ ...sizes, rule: deltaRule(), key: key(1) });
 * model(X).shape; // (8, 2)
 * ```
 *
 * @throws {RangeError} As {@linkcode FastWeight}.
 */
export function FastWeightODE(options: FastWeightModelOptions): FastWeightModel {
  checkOptions("FastWeightODE", options, fastWeightModelOptionNames);
  return alongControl("FastWeightODE", options, fastWeightEquation("FastWeightODE", options));
}
