/** Recipes of Nzoyem et al., 2025, for classification: table 3, table 10 and sequential MNIST (appendix D.1). */
import { cited, type Recipe } from "./recipe.ts";
import { optimizer } from "./warp_optimizer.ts";

const fileOverSummary = "C.5 states only a range for all data sets; the value is that of the published file";

/** Rules that all six problems share. */
const rules = {
  ...optimizer,
  activation: cited("relu", "table 7", "root_activation"),
  initial: cited("network", "C", "init_state_layers: 2"),
  clipWeights: cited(0, "C.5: no weight clipping", "weights_lim: null"),
  logits: cited("one per class", undefined, "loaders.py: nb_classes"),
} as const;

const range = (file: string) =>
  cited("range", "C.5: normalization is applied", `${file}: normalize: True; loaders.py: from -1 to 1`);
const none = (file: string) => cited("none", "C.5: normalization is not used", `${file}: normalize: False`);

const rate = cited(1e-5, "C.5", "init_lr");

export const eigenworms = {
  title: "WARP on EigenWorms",
  settings: {
    epochs: cited(800, "C.5", "eigen_worms.yaml: 100", "the paper states the value for this data set"),
    batchSize: cited(40, "C.5", "eigen_worms.yaml: 32", "the paper states the value for this data set"),
    learningRate: cited(
      1e-6,
      "C.5",
      "eigen_worms.yaml: 1e-7",
      "the paper states the value for this data set",
    ),
    hidden: cited(128, "table 7", "eigen_worms.yaml: root_width_size"),
    depth: cited(1, "table 7", "eigen_worms.yaml: root_depth"),
  },
  rules: { ...rules, scaling: none("eigen_worms.yaml") },
} as const satisfies Recipe;

export const scp1 = {
  title: "WARP on SelfRegulationSCP1",
  settings: {
    epochs: cited(5000, "C.5: several thousand", "scp1.yaml: nb_epochs", fileOverSummary),
    batchSize: cited(561, "C.5: about 280 to 560", "scp1.yaml: batch_size", fileOverSummary),
    learningRate: rate,
    hidden: cited(48, "table 7", "scp1.yaml: root_width_size"),
    depth: cited(2, "table 7", "scp1.yaml: root_depth"),
  },
  rules: { ...rules, scaling: range("scp1.yaml") },
} as const satisfies Recipe;

export const scp2 = {
  title: "WARP on SelfRegulationSCP2",
  settings: {
    epochs: cited(5000, "C.5: several thousand", "scp2.yaml: nb_epochs", fileOverSummary),
    batchSize: cited(380, "C.5: about 280 to 560", "scp2.yaml: batch_size", fileOverSummary),
    learningRate: rate,
    hidden: cited(48, "table 7", "scp2.yaml: root_width_size"),
    depth: cited(2, "table 7", "scp2.yaml: root_depth"),
  },
  rules: { ...rules, scaling: range("scp2.yaml") },
} as const satisfies Recipe;

export const ethanol = {
  title: "WARP on EthanolConcentration",
  settings: {
    epochs: cited(6500, "C.5", "ethanol.yaml: nb_epochs"),
    batchSize: cited(524, "C.5: about 280 to 560", "ethanol.yaml: batch_size", fileOverSummary),
    learningRate: rate,
    hidden: cited(32, "table 7", "ethanol.yaml: root_width_size"),
    depth: cited(2, "table 7", "ethanol.yaml: root_depth"),
  },
  rules: { ...rules, scaling: range("ethanol.yaml") },
} as const satisfies Recipe;

export const heartbeat = {
  title: "WARP on Heartbeat",
  settings: {
    epochs: cited(1500, "C.5: several thousand", "heartbeat.yaml: nb_epochs", fileOverSummary),
    batchSize: cited(286, "C.5: about 280 to 560", "heartbeat.yaml: batch_size", fileOverSummary),
    learningRate: rate,
    hidden: cited(72, "table 7", "heartbeat.yaml: root_width_size"),
    depth: cited(2, "table 7", "heartbeat.yaml: root_depth"),
  },
  rules: { ...rules, scaling: range("heartbeat.yaml") },
} as const satisfies Recipe;

export const motor = {
  title: "WARP on MotorImagery",
  settings: {
    epochs: cited(100, "C.5: several thousand", "motor_imagery.yaml: nb_epochs", fileOverSummary),
    batchSize: cited(128, "C.5: about 280 to 560", "motor_imagery.yaml: batch_size", fileOverSummary),
    learningRate: cited(
      1e-5,
      "C.5",
      "motor_imagery.yaml: 1e-6",
      "the paper states the value for this data set",
    ),
    hidden: cited(32, "table 7", "motor_imagery.yaml: root_width_size"),
    depth: cited(2, "table 7", "motor_imagery.yaml: root_depth"),
  },
  rules: { ...rules, scaling: none("motor_imagery.yaml") },
} as const satisfies Recipe;

/** Table 10. */
export const spirals = {
  title: "Spirals",
  settings: {
    epochs: cited(4000, "C.5", "spirals.yaml: 2000", "the paper states the value for this data set"),
    batchSize: cited(10_000, "C.5", "spirals.yaml: batch_size"),
    samples: cited(10_000, "table 4"),
    learningRate: cited(1e-5, "C.5", "spirals.yaml: init_lr"),
    hidden: cited(24, "table 7", "spirals.yaml: root_width_size"),
  },
  rules: {
    ...optimizer,
    depth: cited(1, "table 7", "spirals.yaml: root_depth"),
    activation: cited("silu", "table 7: Swish", "spirals.yaml: swish"),
    initial: cited("network", "C", "spirals.yaml: init_state_layers: 2"),
  },
} as const satisfies Recipe;

const ownFile = "C.2 refers to the settings of image completion; the published file is for this problem";

/** Appendix D.1. */
export const sequentialMnist = {
  title: "WARP on sequential MNIST",
  settings: {
    length: cited(196, "D.1: 14 by 14", "mnist_classif_14.yaml: downsample_factor 2"),
    epochs: cited(3000, "C.1: 200", "mnist_classif_14.yaml: nb_epochs (60,000 steps)", ownFile),
    batchSize: cited(3072, "C.1: 640", "mnist_classif_14.yaml: batch_size", ownFile),
    learningRate: cited(1e-4, "C: 1e-5 for most problems", "mnist_classif_14.yaml: init_lr", ownFile),
    samples: cited(60_000, "table 4"),
    hidden: cited(24, "table 7", "mnist_classif_14.yaml: root_width_size"),
    depth: cited(3, "table 7", "mnist_classif_14.yaml: root_depth"),
    clipWeights: cited(0, "C.1: clipping on MNIST", "mnist_classif_14.yaml: weights_lim: null", ownFile),
  },
  rules: {
    ...optimizer,
    activation: cited("relu", "table 7", "mnist_classif_14.yaml: root_activation"),
    initial: cited("learned", "C", "mnist_classif_14.yaml: init_state_layers: null"),
    stateSize: cited(1498, undefined, "models.py: 1, 24, 24, 24, 10"),
  },
} as const satisfies Recipe;
