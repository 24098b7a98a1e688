/** Recipes of Nzoyem et al., 2025, for dynamical systems: table 2, figure 5 and the ablations. */
import { cited, type Recipe } from "./recipe.ts";
import { optimizer } from "./warp_optimizer.ts";

const rate = cited(1e-5, "C.4", "init_lr");
const root = {
  hidden: cited(48, "table 7", "root_width_size"),
  depth: cited(3, "table 7", "root_depth"),
} as const;
const rootRules = {
  ...optimizer,
  activation: cited("silu", "table 7: Swish", "root_activation: swish"),
  clipWeights: cited(0, "C.4: no weight clipping", "weights_lim: null"),
} as const;

const normalized = "the errors of table 2, about 0.01, are errors of normalised values";

/** Mass-spring-damper, MSD and MSD-Zero. */
export const massSpringDamper = {
  title: "Mass-spring-damper",
  settings: {
    ...root,
    learningRate: rate,
    epochs: cited(1000, "C.4", "original.yaml, zero.yaml: nb_epochs"),
    batchSize: cited(1024, "C.4", "original.yaml, zero.yaml: batch_size"),
    samples: cited(20_480, "table 4"),
    length: cited(256, "table 4"),
    context: cited(100, "table 4", "original.yaml, zero.yaml: inference_start"),
  },
  rules: {
    ...rootRules,
    forcing: cited(0.25, "C.4", "original.yaml, zero.yaml: forcing_prob"),
    rootInputs: cited(
      "tau alone; with the previous input in WARP-Phys",
      undefined,
      "original.yaml, zero.yaml: input_prev_data: False; *_physics.yaml: True",
    ),
    stateSize: cited(4898, "A.1: a 4898-dimensional space", "models.py: 1, 48, 48, 48, 2"),
    initial: cited(
      "network",
      "C: phi is not used on MSD; table 11: phi is used on MSD-Zero",
      "original.yaml, zero.yaml: init_state_layers: 2",
      "the value of the published file; all series of MSD have the same x_0, so phi(x_0) is a constant there",
    ),
    scaling: cited(
      "range",
      "B.1: to [-1, 1] with the statistics of the training set",
      "original.yaml, zero.yaml: normalize: False",
      normalized,
    ),
    bound: cited(
      "dynamicTanh",
      "C.4: unit-initialised dynamic tanh",
      "original.yaml, zero.yaml: clipped to 38, in unscaled values",
      normalized,
    ),
  },
} as const satisfies Recipe;

/** Epochs of WARP-Phys, whose model is not in the published code. */
export const physics = {
  title: "WARP-Phys on mass-spring-damper",
  settings: {},
  rules: {
    epochs: cited(2500, undefined, "original_physics.yaml: nb_epochs"),
    zeroEpochs: cited(5000, undefined, "zero_physics.yaml: nb_epochs"),
  },
} as const satisfies Recipe;

/** Lotka-Volterra. */
export const lotkaVolterra = {
  title: "Lotka-Volterra",
  settings: {
    ...root,
    learningRate: rate,
    epochs: cited(1500, "C.4", "lotka.yaml: nb_epochs"),
    batchSize: cited(1024, "C.4", "lotka.yaml: batch_size"),
    samples: cited(15_000, "table 4"),
    length: cited(256, "table 4"),
  },
  rules: {
    ...rootRules,
    forcing: cited(1, "C.4", "lotka.yaml: forcing_prob"),
    rootInputs: cited("tau alone", undefined, "lotka.yaml: input_prev_data: False"),
    initial: cited("learned", "C: phi is not used", "lotka.yaml: init_state_layers: null"),
    bound: cited("dynamicTanh", "C.4", "lotka.yaml: root_final_activation: [1, 0, 1, 0]"),
    ranges: cited(
      "code",
      "table 6",
      "lotka/datagen.py: two ranges are swapped",
      "in the paper's ranges, a constant forecast has a smaller error than every model of table 2",
    ),
  },
} as const satisfies Recipe;

/** Sine waves. */
export const sine = {
  title: "SINE",
  settings: {
    ...root,
    learningRate: rate,
    epochs: cited(20, "C.4: 1000", "sine_small.yaml: 1000", "20 epochs with 50 visits are the same steps"),
    batchSize: cited(10, "C.4: all waves of the data set", "sine_small.yaml: 10000"),
  },
  rules: {
    ...rootRules,
    visits: cited(
      50,
      "C.4: 1, an epoch is a single batch",
      undefined,
      "an epoch of a single step takes less time than its validation",
    ),
    forcing: cited(0.25, "C.4", "sine_small.yaml: forcing_prob"),
    context: cited(1, "C.4", "sine_small.yaml: inference_start"),
    initial: cited("network", "C", "sine_small.yaml: init_state_layers: 2"),
    bound: cited("none", "C.4", "sine_small.yaml: root_final_activation: null"),
  },
} as const satisfies Recipe;

/** Sizes of the recurrent networks, and the rate of the Transformer. */
export const baselines = {
  title: "Other models on dynamical systems",
  settings: {},
  rules: {
    gruUnits: cited(2850, "table 8: MSD, LV", "gru/msd.yaml, gru/lotka.yaml: rnn_hidden_size"),
    lstmUnits: cited(2450, "table 8: MSD, LV", "lstm/msd.yaml, lstm/lotka.yaml: rnn_hidden_size"),
    sineUnits: cited(2280, "table 8: SINE", "gru/sine_tiny.yaml, lstm/sine_tiny.yaml: rnn_hidden_size"),
    transformerRate: cited(6e-4, "C"),
    transformerBeta1: cited(0.9, "C"),
    transformerBeta2: cited(0.95, "C"),
    transformerWeightDecay: cited(0.1, "C"),
  },
} as const satisfies Recipe;
