/**
 * Continuous-time and weight-space sequence models.
 *
 * @module
 */
export { init, type InitOptions } from "./src/device/init.ts";
export type { DType, TypedArray } from "./src/device/dtype.ts";
export { type ReduceOptions, scalar, stopGradient, Tensor, type TensorLike } from "./src/tensor/tensor.ts";
export * from "./src/tensor/creation.ts";
export {
  bernoulli,
  foldIn,
  type Key,
  key,
  normal,
  permutation,
  split,
  uniform,
} from "./src/tensor/random.ts";
export * from "./src/tensor/functions.ts";
export { keep, scope } from "./src/tensor/scope.ts";
export { flatten, leaves, mapTree, type Tree } from "./src/tensor/tree.ts";
export * from "./src/autodiff/grad.ts";
export * from "./src/autodiff/check.ts";
export { type Path, type Times } from "./src/paths/path.ts";
export { naturalCubicCoeffs } from "./src/paths/natural_cubic.ts";
export { CubicSpline } from "./src/paths/cubic_spline.ts";
export { linearCoeffs, LinearInterpolation } from "./src/paths/linear.ts";
export { scan } from "./src/compile/scan.ts";
export type { VectorField } from "./src/solvers/tableau.ts";
export { odeint, type SolveOptions } from "./src/solvers/odeint.ts";
export { cdeint } from "./src/solvers/cdeint.ts";
