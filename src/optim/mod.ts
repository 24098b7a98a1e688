/**
 * Optimisers and schedules of the learning rate.
 *
 * @module
 */
export type { Maker } from "../tensor/maker.ts";
export { Optimizer, type OptimizerOptions, type OptimizerState, type UpdateRule } from "./optimizer.ts";
export { SGD, type SGDOptions } from "./sgd.ts";
export { Adam, type AdamOptions } from "./adam.ts";
export { AdamW } from "./adamw.ts";
export { AdaBelief } from "./adabelief.ts";
export { clipByGlobalNorm, clipElements } from "./clip.ts";
export * from "./schedules.ts";
