/**
 * Continuous-time and weight-space sequence models: Neural CDEs, continuous-time fast weight programmers, WARP.
 *
 * Read first: {@linkcode tensor} (data from nested arrays), {@linkcode valueAndGrad} (gradients),
 * {@linkcode CubicSpline} (a path through observations), {@linkcode cdeint} (a solve along a path), and a model,
 * {@linkcode NeuralCDE}. {@linkcode init} chooses the device; without it tensors live on the CPU.
 *
 * Everything here can also be imported in parts, beside tensors, gradients and {@linkcode jit}, which are here alone:
 *
 * - {@link [paths] | `@weft/weft/paths`}: controls through observations, signatures.
 * - {@link [solvers] | `@weft/weft/solvers`}: ordinary, controlled and stochastic differential equations.
 * - {@link [nn] | `@weft/weft/nn`}: layers, initialisation, losses.
 * - {@link [optim] | `@weft/weft/optim`}: optimisers, schedules, clipping.
 * - {@link [models] | `@weft/weft/models`}: Neural CDEs, fast weight programmers, WARP, and models to compare them with.
 *
 * Two parts are left out of this module, since they read and write files; here only {@linkcode load} and {@linkcode save} do,
 * when called with a path:
 *
 * - {@link [data] | `@weft/weft/data`}: readers, data sets, splits and batches.
 * - {@link [train] | `@weft/weft/train`}: training loop, checkpoints, reports.
 *
 * @module
 */
export type { DeviceChoice } from "./src/device/choice.ts";
export { init, type InitOptions, onCpu } from "./src/compile/init.ts";
export type { Device, DeviceInfo } from "./src/device/device.ts";
export type { DType, TypedArray } from "./src/device/dtype.ts";
export { type Shape, ShapeError } from "./src/device/shape.ts";
export { stopGradient } from "./src/tensor/functions.ts";
export {
  type NestedNumbers,
  type NormOptions,
  type ReduceOptions,
  type SortOptions,
  Tensor,
  type TensorLike,
} from "./src/tensor/tensor.ts";
export {
  arange,
  type ArangeOptions,
  eye,
  full,
  linspace,
  oneHot,
  ones,
  scalar,
  tensor,
  type TensorData,
  type TensorOptions,
  zeros,
} from "./src/tensor/creation.ts";
export {
  bernoulli,
  foldIn,
  type Key,
  key,
  normal,
  type NormalOptions,
  randint,
  randperm,
  splitKey,
  uniform,
  type UniformOptions,
} from "./src/tensor/random.ts";
export { einsum } from "./src/tensor/einsum.ts";
export * from "./src/tensor/functions.ts";
export { type Figure, image, type ImageOptions, plot, type PlotOptions } from "./src/tensor/figures.ts";
export { topK, type TopKOptions } from "./src/tensor/top_k.ts";
export { keep, tidy } from "./src/tensor/scope.ts";
export { type Tree, treeFlatten, treeLeaves, treeMap } from "./src/tensor/tree.ts";
export { type BatchSource, epochOrder, inBatches, sampleCount, takeSamples } from "./src/data/batches.ts";
export { load, loadMetadata, save, type SaveOptions } from "./src/files/save.ts";
export * from "./src/device/errors.ts";
export { SafetensorsError } from "./src/files/safetensors.ts";
export * from "./src/autodiff/grad.ts";
export * from "./src/autodiff/check.ts";
export * from "./src/autodiff/jvp.ts";
export * from "./src/autodiff/jacobian.ts";
export {
  type KeyBatch,
  type MappedAxes,
  vmap,
  type VmapOptions,
  type WithKeyBatches,
} from "./src/autodiff/vmap.ts";
export { jit } from "./src/compile/jit/jit.ts";
export { JitError } from "./src/device/capture.ts";
export { scan, type ScanOptions } from "./src/compile/loop/scan.ts";
export { whileLoop, type WhileLoopOptions } from "./src/compile/loop/while_loop.ts";
export { explain, type Explanation } from "./src/compile/inspect/explain.ts";
export {
  profile,
  type ProfileRow,
  type ProfileSpan,
  type RunProfile,
} from "./src/compile/inspect/profile/profile.ts";
export type { SpanKind } from "./src/device/profiler.ts";
export { tune } from "./src/compile/inspect/tune.ts";
export * from "./src/paths/mod.ts";
export * from "./src/solvers/mod.ts";
export * from "./src/nn/mod.ts";
export * from "./src/optim/mod.ts";
export * from "./src/models/mod.ts";
