/** Fast weight models of whole series, and their learning rules. */
export { FastWeightCDE } from "../../../models/fast_weight/cde.ts";
export { FastWeightDirectMap } from "../../../models/fast_weight/direct_map.ts";
export { FastWeightODE } from "../../../models/fast_weight/ode.ts";
export { FastWeightRDE } from "../../../models/fast_weight/rde.ts";
export { gatedDeltaRule, gatedOjaRule } from "../../../models/fast_weight/gated_rules.ts";
export { deltaRule, hebbRule, ojaRule } from "../../../models/fast_weight/rules.ts";
