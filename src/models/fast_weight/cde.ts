import { checkOptions, namesOf } from "../../device/options.ts";
import { checkWord } from "../../tensor/checks.ts";
import { alongControl } from "../along_control.ts";
import { fastWeightEquation } from "./fast_weight.ts";
import { type FastWeightModel, fastWeightModelOptionNames, type FastWeightModelOptions } from "./options.ts";

/**
 * Controlled differential equations of fast weights (Irie et al., 2022, section 3.2, equations 23 to 25 and
 * 36 to 38). Keys and values come from x(s) and x'(s). See {@linkcode FastWeight} for shapes.
 *
 * | `keys` | keys, rates, query | values | W is queried | in the paper with |
 * | --- | --- | --- | --- | --- |
 * | `"value"` | x | x' | transposed | Hebb, Oja (equations 24, 25) |
 * | `"derivative"` | x' | x | as it is | Delta (24, 25); Hebb with the roles exchanged (36, 37) |
 * | `"derivative only"` | x' | x' | as it is | all three rules (38) |
 *
 * W has values as rows and keys as columns, as below equation 18. For Hebb and Oja, equation 24 writes the
 * factors in the other order, with keys as rows, and equation 25 has a transpose. The default transposes the
 * W of values by keys, as the authors' code does. `transposeQuery: false` reads the W of equation 24 (keys as
 * rows) through its transpose: it recalls values by their keys.
 *
 * The authors' code differs from the paper. These options reproduce the code: the softmax after the
 * subtraction in Oja's rule (`ojaRule({ normalizeAfter: true })`), beta and values without activation in Hebb's
 * rule (`hebbRule({ boundRate: false, boundValues: false })`), and `normalizeValues`. The code's Hebb rule from
 * x' alone is the delta rule.
 *
 * @example
 * ```ts
 * import { CubicSpline, FastWeightCDE, key, naturalCubicCoeffs, normal, ojaRule } from "@weft/weft";
 *
 * const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 50, 3])));
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2, layers: 2 };
 * const model = FastWeightCDE({ ...sizes, rule: ojaRule(), keys: "value", key: key(1) });
 * model(X, { states: "all" }).shape; // (8, 50, 2)
 * ```
 *
 * @throws {RangeError} As {@linkcode FastWeight}.
 */
export function FastWeightCDE(options: FastWeightCDEOptions): FastWeightModel {
  checkOptions("FastWeightCDE", options, fastWeightCDEOptionNames);
  const { keys = "derivative", transposeQuery = keys === "value", ...rest } = options;
  checkWord("FastWeightCDE", "keys", keys, ["value", "derivative", "derivative only"]);
  const equation = fastWeightEquation("FastWeightCDE", {
    ...rest,
    keysFrom: keys === "value" ? "value" : "derivative",
    valuesFrom: keys === "derivative" ? "value" : "derivative",
    transposeQuery,
  });
  return alongControl("FastWeightCDE", options, equation);
}

/** Options of {@linkcode FastWeightCDE}. */
export interface FastWeightCDEOptions extends FastWeightModelOptions {
  /**
   * Source of the keys. Values come from the other source.
   *
   * @default {"derivative"}
   */
  keys?: "value" | "derivative" | "derivative only";
  /**
   * Whether to apply a layer norm and a second linear map after the projection of the values, as in the
   * authors' code for EigenWorms. `false` by default, as in the paper.
   *
   * @default {false}
   */
  normalizeValues?: boolean;
  /** Whether to transpose W for the query. By default true for keys from `"value"`, otherwise false. */
  transposeQuery?: boolean;
}

const fastWeightCDEOptionNames = namesOf<FastWeightCDEOptions>()(
  fastWeightModelOptionNames,
  "keys? normalizeValues? transposeQuery?",
);
