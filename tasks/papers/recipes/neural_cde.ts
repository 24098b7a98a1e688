/** Recipes of Kidger et al., "Neural Controlled Differential Equations for Irregular Time Series", 2020. */
import { cited, type PaperRecipes, type Recipe } from "./recipe.ts";

/** Rules that all problems of the paper share. */
const shared = {
  l2Penalty: cited(0.03, "D.1: L2 penalty, without a value", "common.py: factor of the norms"),
  plateauFactor: cited(0.1, "D.2 to D.4: divided by 10", "common.py: default of ReduceLROnPlateau"),
  lossThreshold: cited(1e-4, undefined, "common.py: loss * 1.0001"),
  accuracyThreshold: cited(1e-3, undefined, "common.py: accuracy * 1.001"),
} as const;

const textOfSchedule = "the code counts evaluations, one in ten epochs; the value is the rule of the paper";

/** Table 1. */
export const characterTrajectories = {
  title: "CharacterTrajectories",
  settings: {
    epochs: cited(1000, "D.2", "uea.py: max_epochs"),
    batchSize: cited(32, "D.2", "uea.py: batch_size"),
    learningRate: cited(0.001, "D.2", "uea.py: lr"),
    hidden: cited(32, "D.2", "uea.py: ncde and odernn"),
    method: cited("rk4", "D.1", "controldiffeq"),
  },
  rules: {
    ...shared,
    recurrentHidden: cited(47, "D.2", "uea.py: dt, decay and gruode"),
    width: cited(32, "D.2", "uea.py: hidden_hidden_channels"),
    depth: cited(3, "D.2", "uea.py: num_hidden_layers"),
    readoutRate: cited(1, "D.2 states no factor", "uea.py has no factor"),
    plateauOf: cited(
      "validation loss",
      "D.2",
      "common.py: the validation accuracy",
      textOfSchedule,
    ),
    plateauPatience: cited(10, "D.2", "common.py: two evaluations, 20 epochs", textOfSchedule),
    stopAfter: cited(50, "D.2", "common.py: plateau_terminate"),
    stopBy: cited("training accuracy", "D.2", "common.py: best_train_accuracy_epoch"),
  },
} as const satisfies Recipe;

const adamCancels = "Adam divides by the size of the gradients, which cancels the factor of the code";

const longSchedule = {
  plateauOf: cited("training", "D.3, D.4: the training loss", "common.py: the training loss"),
  plateauPatience: cited(10, "D.3, D.4", "common.py: three evaluations, 30 epochs", textOfSchedule),
  stopAfter: cited(100, "D.3, D.4", "common.py: plateau_terminate"),
  stopBy: cited(
    "validation accuracy",
    "D.3, D.4",
    "common.py: the training accuracy",
    "the value is the rule of the paper",
  ),
} as const;

/** Table 2. */
export const sepsis = {
  title: "Sepsis",
  settings: {
    epochs: cited(200, "D.3", "sepsis.py: max_epochs"),
    batchSize: cited(1024, "D.3", "sepsis.py: batch_size"),
    learningRate: cited(0.0032, "D.3", "sepsis.py: 0.0001 * (batch_size / 32)"),
    method: cited("rk4", "D.1", "controldiffeq"),
  },
  rules: {
    ...shared,
    ...longSchedule,
    recurrentHidden: cited(187, "D.3", "sepsis.py: dt, decay and gruode"),
    odeRnnHidden: cited(128, "D.3", "sepsis.py: odernn"),
    odeRnnWidth: cited(128, "D.3", "sepsis.py: odernn"),
    hidden: cited(49, "D.3", "sepsis.py: ncde"),
    width: cited(49, "D.3", "sepsis.py: ncde"),
    depth: cited(4, "D.3", "sepsis.py: num_hidden_layers"),
    readoutRate: cited(1, "D.3: 100, a learning rate of 0.32", "sepsis.py: gradients times 100", adamCancels),
    missingValues: cited("spline", "D.3: natural cubic splines", "other.py: interp.evaluate"),
    positiveWeight: cited(10, undefined, "sepsis.py: pos_weight"),
    staticWidth: cited(256, "D.3", "sepsis.py: linear1"),
  },
} as const satisfies Recipe;

/** Table 3. */
export const speechCommands = {
  title: "Speech Commands",
  settings: {
    epochs: cited(200, "D.4", "speech_commands.py: max_epochs"),
    batchSize: cited(1024, "D.4", "speech_commands.py: batch_size"),
    learningRate: cited(0.0016, "D.4", "speech_commands.py: 0.00005 * (batch_size / 32)"),
    method: cited("rk4", "D.1", "controldiffeq"),
  },
  rules: {
    ...shared,
    ...longSchedule,
    recurrentHidden: cited(160, "D.4", "speech_commands.py: dt, decay and gruode"),
    odeRnnHidden: cited(128, "D.4", "speech_commands.py: odernn"),
    odeRnnWidth: cited(64, "D.4", "speech_commands.py: odernn"),
    hidden: cited(90, "D.4", "speech_commands.py: ncde"),
    width: cited(40, "D.4", "speech_commands.py: ncde"),
    depth: cited(4, "D.4", "speech_commands.py: num_hidden_layers"),
    readoutRate: cited(
      1,
      "D.4: 100, a learning rate of 0.16",
      "speech_commands.py: gradients times 100",
      adamCancels,
    ),
    missingValues: cited("spline", undefined, "other.py: interp.evaluate (no value is missing)"),
    mels: cited(128, "D.4", "datasets/speech_commands.py: 64", "the paper describes the features completely"),
  },
} as const satisfies Recipe;

export const neuralCdeRecipes: PaperRecipes = {
  paper: "Kidger et al., 2020",
  code: "github.com/patrick-kidger/NeuralCDE, experiments/, commit 7e529f5",
  recipes: [characterTrajectories, sepsis, speechCommands],
};
