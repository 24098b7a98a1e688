/**
 * Continuous-time and weight-space sequence models.
 *
 * @module
 */
export { init, type InitOptions } from "./src/device/init.ts";
export type { Device, DeviceInfo } from "./src/device/device.ts";
export type { DType, TypedArray } from "./src/device/dtype.ts";
export { type Shape, ShapeError } from "./src/device/shape.ts";
export {
  type NestedNumbers,
  type ReduceOptions,
  scalar,
  stopGradient,
  Tensor,
  type TensorLike,
} from "./src/tensor/tensor.ts";
export {
  arange,
  eye,
  full,
  linspace,
  ones,
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
  permutation,
  split,
  uniform,
} from "./src/tensor/random.ts";
export * from "./src/tensor/functions.ts";
export { keep, scope } from "./src/tensor/scope.ts";
export { flatten, leaves, mapTree, type Tree } from "./src/tensor/tree.ts";
export * from "./src/autodiff/grad.ts";
export * from "./src/autodiff/check.ts";
export type { Path, PathOptions, Times } from "./src/paths/path.ts";
export { naturalCubicCoeffs } from "./src/paths/natural_cubic.ts";
export { hermiteCubicCoeffs } from "./src/paths/hermite_cubic.ts";
export { CubicSpline } from "./src/paths/cubic_spline.ts";
export { linearCoeffs, type LinearCoeffsOptions, LinearInterpolation } from "./src/paths/linear.ts";
export {
  combineSignatures,
  logsignature,
  logsignatureChannels,
  signature,
  signatureChannels,
} from "./src/paths/signature.ts";
export { logsigWindows } from "./src/paths/logsig_windows.ts";
export {
  addTime,
  forwardFill,
  type IntensityOptions,
  observationalIntensity,
  observationMask,
  seriesLengths,
  terminalTimes,
} from "./src/paths/observations.ts";
export { scan, type ScanOptions } from "./src/compile/scan.ts";
export type { VectorField } from "./src/solvers/tableau.ts";
export { odeint, odeintSteps } from "./src/solvers/odeint.ts";
export type { AdaptiveSteps, Adjoint, SolveOptions } from "./src/solvers/solve_options.ts";
export type { ErrorNorm, StepController } from "./src/solvers/step_control.ts";
export type { SolveStatistics } from "./src/solvers/adaptive.ts";
export { type EventOptions, odeintEvent } from "./src/solvers/odeint_event.ts";
export { cdeint, cdeintSteps, type CdeSolveOptions } from "./src/solvers/cdeint.ts";
export { type Layer, layer, loadParameters, parameter, type ParameterTree } from "./src/nn/layer.ts";
export type { Initialization } from "./src/nn/initialization.ts";
export { Linear, type LinearOptions, type LinearParameters } from "./src/nn/linear.ts";
export { type Activation, MLP, type MLPOptions, type MLPParameters } from "./src/nn/mlp.ts";
export { LayerNorm, type LayerNormOptions, type LayerNormParameters } from "./src/nn/layer_norm.ts";
export { Dropout, type DropoutOptions } from "./src/nn/dropout.ts";
export { Embedding, type EmbeddingOptions } from "./src/nn/embedding.ts";
export type { GateParameters, RecurrentOptions } from "./src/nn/recurrent.ts";
export { GRU, GRUCell } from "./src/nn/gru.ts";
export { LSTM, LSTMCell, type LSTMCellLayer, type LSTMState } from "./src/nn/lstm.ts";
export * from "./src/nn/losses.ts";
export {
  Optimizer,
  type OptimizerOptions,
  type OptimizerState,
  type UpdateRule,
} from "./src/optim/optimizer.ts";
export { SGD, type SGDOptions } from "./src/optim/sgd.ts";
export { Adam, type AdamOptions } from "./src/optim/adam.ts";
export { AdamW } from "./src/optim/adamw.ts";
export { AdaBelief } from "./src/optim/adabelief.ts";
export { clipByGlobalNorm } from "./src/optim/clip.ts";
export * from "./src/optim/schedules.ts";
export {
  NeuralCDE,
  type NeuralCDEModel,
  type NeuralCDEOptions,
  type NeuralCDEParameters,
} from "./src/models/neural_cde.ts";
export { NeuralODE, type NeuralODEOptions } from "./src/models/neural_ode.ts";
export {
  LatentODE,
  type LatentODEModel,
  type LatentODEOptions,
  type LatentODEParameters,
} from "./src/models/latent_ode.ts";
export { type CausalPath, Stream, type StreamOptions, type StreamState } from "./src/models/stream.ts";
export { explain } from "./src/compile/explain.ts";
export { tune } from "./src/compile/tune.ts";
export { DivergenceError } from "./src/solvers/divergence.ts";
export {
  additive,
  delta,
  type DeltaOptions,
  hebb,
  type HebbOptions,
  type LearningRule,
  oja,
  type OjaOptions,
  type Signals,
} from "./src/models/fast_weight/rules.ts";
export type { ControlSource } from "./src/models/fast_weight/slow_network.ts";
export type { FastWeightCall, FastWeightModel } from "./src/models/fast_weight/along_control.ts";
export {
  FastWeight,
  type FastWeightModelOptions,
  type FastWeightOptions,
} from "./src/models/fast_weight/fast_weight.ts";
export { FastWeightODE } from "./src/models/fast_weight/ode.ts";
export { FastWeightCDE, type FastWeightCDEOptions } from "./src/models/fast_weight/cde.ts";
export { FastWeightRDE, type FastWeightRDEOptions } from "./src/models/fast_weight/rde.ts";
export { FastWeightDirectMap, type FastWeightDirectMapOptions } from "./src/models/fast_weight/direct_map.ts";
export {
  type DiscreteFastWeightOptions,
  type SequenceCall,
  type SequenceModel,
} from "./src/models/fast_weight/discrete.ts";
export { DeltaNet } from "./src/models/fast_weight/delta_net.ts";
export { LinearTransformer } from "./src/models/fast_weight/linear_transformer.ts";
export { RecurrentFWP } from "./src/models/fast_weight/recurrent_fwp.ts";
export type { ODERecurrentOptions } from "./src/models/fast_weight/ode_recurrent_cell.ts";
export { ODERFWP, type ODERFWPOptions } from "./src/models/fast_weight/ode_rfwp.ts";
export {
  LatentODERFWP,
  type LatentODERFWPCall,
  type LatentODERFWPModel,
  type LatentODERFWPOptions,
} from "./src/models/fast_weight/latent_ode_rfwp.ts";
export type { WARPMode } from "./src/models/warp/cost.ts";
export type { WARPModeOption } from "./src/models/warp/modes.ts";
export { linearFlow, type PhysicalForm, sinePhase } from "./src/models/warp/physics.ts";
export type {
  DynamicTanhParameters,
  WARPDecoding,
  WARPOutput,
  WARPPredictionBound,
} from "./src/models/warp/readout.ts";
export type { WARPInitialParameters } from "./src/models/warp/initial_network.ts";
export type { WARPRootOptions } from "./src/models/warp/root.ts";
export type { WARPTransitionOptions } from "./src/models/warp/transition.ts";
export type { WARPCall } from "./src/models/warp/call.ts";
export { WARP, type WARPModel, type WARPOptions, type WARPParameters } from "./src/models/warp/warp.ts";
export {
  type ForecastCall,
  type ForecasterOptions,
  Recurrent,
  RecurrentForecaster,
  type RecurrentModelOptions,
  type RecurrentParameters,
} from "./src/models/recurrent.ts";
export { type IrregularCall, IrregularGRU, type IrregularGRUOptions } from "./src/models/irregular_gru.ts";
export type { ReadoutOptions } from "./src/models/terminal.ts";
