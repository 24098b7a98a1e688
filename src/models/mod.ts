/**
 * Neural CDEs, continuous-time fast weight programmers, WARP, and baseline models.
 *
 * @example
 * ```ts
 * import { key, normal } from "@weft/weft";
 * import { NeuralCDE } from "@weft/weft/models";
 * import { CubicSpline, naturalCubicCoeffs } from "@weft/weft/paths";
 *
 * const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 20, 3]))); // (batch, length, channels)
 * const sizes = { inputChannels: 3, hiddenChannels: 8, outputChannels: 2, width: 16, depth: 1 };
 * const model = NeuralCDE({ ...sizes, key: key(1) });
 * console.log(model(X).shape); // (8, 2)
 * ```
 *
 * @module
 */
export type {
  FastWeightCallOptions,
  FastWeightModel,
  FastWeightModelOptions,
  FastWeightOptions,
} from "./fast_weight/options.ts";
export * from "./cde/neural_cde.ts";
export type { MatrixForm } from "./cde/matrix_field.ts";
export type { WindowedModel } from "./cde/along_windows.ts";
export * from "./cde/neural_rde.ts";
export * from "./cde/log_ncde.ts";
export type { AlongControlModel, ControlSource, SlopeScale } from "./along_control.ts";
export type { ControlledOptions } from "./hidden_state.ts";
export * from "./gru_ode.ts";
export * from "./direct_neural_ode.ts";
export * from "./neural_ode.ts";
export * from "./latent/latent_ode.ts";
export {
  type SeriesStreams,
  seriesStreams,
  type SeriesStreamState,
  type StreamedOutputs,
} from "./series_streams.ts";
export {
  type CausalPath,
  ModelStream,
  type ModelStreamOptions,
  type ModelStreamState,
  type StreamableModel,
  type StreamedModel,
} from "./stream.ts";
export {
  additiveRule,
  deltaRule,
  type DeltaRuleOptions,
  hebbRule,
  type HebbRuleOptions,
  type LearningRule,
  learningRule,
  type LinearForm,
  type LinearTerms,
  ojaRule,
  type OjaRuleOptions,
  type Signals,
  type SignalSize,
  type SignalSizes,
} from "./fast_weight/rules.ts";
export { gatedDeltaRule, gatedOjaRule, type GatedRuleOptions } from "./fast_weight/gated_rules.ts";
export { FastWeight } from "./fast_weight/fast_weight.ts";
export type { FastWeightLayerSizes } from "./fast_weight/heads.ts";
export * from "./fast_weight/ode.ts";
export * from "./fast_weight/cde.ts";
export * from "./fast_weight/rde.ts";
export * from "./fast_weight/direct_map.ts";
export {
  type DiscreteFastWeightOptions,
  type FastWeightMode,
  type SequenceModel,
} from "./fast_weight/discrete.ts";
export * from "./fast_weight/delta_net.ts";
export * from "./fast_weight/linear_transformer.ts";
export * from "./fast_weight/recurrent_fwp.ts";
export {
  ODERecurrentCell,
  type ODERecurrentOptions,
  type ODERecurrentState,
} from "./fast_weight/ode_recurrent_cell.ts";
export { ODERFWP, type ODERFWPOptions } from "./fast_weight/ode_rfwp.ts";
export * from "./fast_weight/latent_ode_rfwp.ts";
export * from "./warp/analysis.ts";
export type { WARPMode } from "./warp/cost.ts";
export * from "./warp/physics.ts";
export type {
  DynamicTanhParameters,
  WARPDecoding,
  WARPDynamicTanh,
  WARPOutput,
  WARPPredictionBound,
} from "./warp/readout.ts";
export type { WARPInitialParameters } from "./warp/initial_network.ts";
export type { WARPPositionalEncoding, WARPRootOptions } from "./warp/root.ts";
export type { WARPTransitionInitialization, WARPTransitionOptions } from "./warp/transition.ts";
export type { WARPCallOptions, WARPIndexing } from "./warp/call.ts";
export * from "./warp/warp.ts";
export * from "./recurrent.ts";
export type { ForecastCallOptions, ForecasterBaseOptions, ForecasterModel } from "./forecaster.ts";
export * from "./transformer.ts";
export { IrregularGRU, type IrregularGRUCallOptions, type IrregularGRUOptions } from "./irregular_gru.ts";
export {
  BetweenObservations,
  type BetweenObservationsOptions,
  type BetweenOptions,
} from "./between_observations.ts";
export type { StateSpaceModel, StateSpaceOptions, StateSpaceSizes } from "./diagonal/stack.ts";
export { S4D, type S4DSizes } from "./diagonal/s4d.ts";
export { LRU, type LRUSizes } from "./diagonal/lru.ts";
export { S5, type S5Sizes } from "./diagonal/s5.ts";
export { S6, type S6Options } from "./diagonal/s6.ts";
export type { SelectiveSystemSizes } from "./diagonal/selective_system.ts";
export { Mamba, type MambaSizes } from "./diagonal/mamba.ts";
export * from "./diagonal/forecaster.ts";
export * from "./structured/structured_cde.ts";
export type { StructuredCDEControl, StructuredCDEForm } from "./structured/controlled_layer.ts";
export type { MatrixStructure } from "./structured/structures.ts";
export * from "./latent/latent_ode_rnn.ts";
export type {
  LatentOptions,
  LatentRecurrenceCallOptions,
  LatentRecurrenceModel,
  LatentUpdate,
} from "./latent/latent_recurrence.ts";
export type { SequenceOptions, StateSize } from "./sequences.ts";
export type { ReadoutOptions, SequenceCallOptions } from "./readout_states.ts";
export type { StaticFeaturesCallOptions, StaticFeaturesOptions } from "./static_features.ts";
