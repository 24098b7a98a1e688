/**
 * Optimizers and learning rate schedules.
 *
 * @example
 * ```ts
 * import { key, Linear, meanSquaredError, ones, valueAndGrad } from "@weft/weft";
 * import { Adam, clipByGlobalNorm, cosineDecay } from "@weft/weft/optim";
 *
 * const [rate, steps] = [0.1, 20];
 * const model = Linear({ inputs: 3, outputs: 1, key: key(0) });
 * const optimizer = Adam(model.parameters, { learningRate: rate });
 * const schedule = cosineDecay({ steps });
 * for (let step = 0; step < steps; step++) {
 *   optimizer.learningRate = rate * schedule(step);
 *   const loss = () => meanSquaredError(model(ones([4, 3])), ones([4, 1]));
 *   const [, gradients] = valueAndGrad(loss)(model.parameters);
 *   optimizer.step(clipByGlobalNorm(gradients, 1).gradients);
 * }
 * ```
 *
 * @module
 */
export { Optimizer, type OptimizerOptions, type OptimizerState, type UpdateRule } from "./optimizer.ts";
export * from "./sgd.ts";
export { Adam, type AdamOptions } from "./adam.ts";
export * from "./adamw.ts";
export * from "./adabelief.ts";
export * from "./clip.ts";
export * from "./schedules.ts";
