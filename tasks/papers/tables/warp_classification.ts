/** WARP, table 3, table 10 and appendix D.1: classification of series. */
import { valuesOf } from "../recipes/recipe.ts";
import * as recipes from "../recipes/warp_uea.ts";
import { accuracy, type Chosen, type PaperTable, published, type TableColumn } from "./table.ts";

/** A problem of the UEA archive, with the paper's settings for WARP. */
function problem(title: string, experiment: string, paper: Chosen): TableColumn {
  return { title, experiment, ...accuracy, at: { paper: { recipe: "paper", ...paper } } };
}

/** Settings of models that solve an equation. */
const byMidpoint: Chosen = { method: "midpoint" };

/** Settings of models that solve an equation along windows of observations. */
const alongWindows: Chosen = { ...byMidpoint, window: 16 };

/** Settings of the other models at the paper's scale. The paper does not publish them. */
const others: Chosen = {
  recipe: "short",
  learningRate: 0.001,
  epochs: 100,
  batchSize: 32,
  hidden: 64,
  depth: 1,
};

/** WARP, table 3. */
export const warpTable3: PaperTable = {
  name: "warp-table-3",
  title: "Problems of the UEA archive: test accuracy in percent",
  source: "Nzoyem et al., 2025, table 3",
  columns: [
    problem("Worms", "eigenworms", valuesOf(recipes.eigenworms.settings)),
    problem("SCP1", "self-regulation-scp1", valuesOf(recipes.scp1.settings)),
    problem("SCP2", "self-regulation-scp2", valuesOf(recipes.scp2.settings)),
    problem("Ethanol", "ethanol-concentration", valuesOf(recipes.ethanol.settings)),
    problem("Heartbeat", "heartbeat", valuesOf(recipes.heartbeat.settings)),
    problem("Motor", "motor-imagery", valuesOf(recipes.motor.settings)),
  ],
  rows: [
    {
      title: "NRDE",
      model: "neural-rde",
      settings: alongWindows,
      published: published("77.2±7.1 76.7±5.6 48.1±11.4 31.4±4.5 73.9±2.6 54±7.8"),
    },
    {
      title: "NCDE",
      model: "neural-cde",
      settings: byMidpoint,
      published: published("62.2±3.3 80±2 53.6±6.2 22±1 68.1±5.8 51.6±6.7"),
    },
    {
      title: "LRU",
      model: "lru",
      published: published("85±6.2 84.5±4.6 47.4±4 29.8±2.8 78.1±7.6 51.9±8.6"),
    },
    {
      title: "S5",
      model: "s5",
      published: published("83.9±4.1 87.1±2.1 55.1±3.3 25.6±3.5 73.9±3.1 53±3.9"),
    },
    {
      title: "S6",
      model: "s6",
      published: published("85±1.2 82.8±2.7 49.9±9.4 26.4±6.4 76.5±8.3 51.3±4.2"),
    },
    {
      title: "Mamba",
      model: "mamba",
      published: published("70.9±15.8 80.7±1.4 48.2±3.9 27.9±4.5 76.2±3.8 47.7±4.5"),
    },
    {
      title: "Log-NCDE",
      model: "log-ncde",
      settings: alongWindows,
      published: published("82.8±2.7 82.1±1.4 54±2.6 35.9±6.1 74.2±2 57.2±5.6"),
    },
    {
      title: "WARP",
      model: "warp",
      at: { small: { learningRate: 0.001 } },
      published: published("60.98±3.1 80±2 57.89±1.5 31.65±0.8 77.42±2.2 50.88±2.3"),
    },
  ].map((row) => row.model === "warp" ? row : { ...row, at: { paper: others } }),
  reference: "warp",
  scales: {
    paper: {
      seeds: 5,
      differs:
        "WARP has the settings of docs/research/recipes.md. The paper's results of the other models are " +
        "those of Walker et al. (2024). The paper does not state their settings, so these models have 64 " +
        "channels, a learning rate of 0.001 and 100 epochs.",
      hours: 3000,
    },
    small: {
      settings: { epochs: 10, hidden: 16 },
      seeds: 3,
      differs: "16 channels, or a root network with one hidden layer of 16. 10 epochs of Adam.",
      hours: 10,
    },
  },
};

/** WARP, table 10. */
export const warpTable10: PaperTable = {
  name: "warp-table-10",
  title: "Spirals, clockwise or counter-clockwise",
  source: "Nzoyem et al., 2025, table 10",
  columns: [
    { title: "accuracy, %", experiment: "exponential-spirals", ...accuracy, digits: 2 },
    {
      ...{ title: "s an epoch", experiment: "exponential-spirals", measure: "seconds an epoch" },
      ...{ factor: 1, digits: 2, better: "small" },
    },
  ],
  rows: [
    {
      title: "Neural CDE",
      model: "neural-cde",
      at: { small: { epochs: 5 } },
      published: published("100 0.12"),
    },
    { title: "WARP", model: "warp", published: published("99.96 0.41") },
  ],
  reference: "warp",
  scales: {
    paper: {
      settings: { recipe: "paper", ...valuesOf(recipes.spirals.settings) },
      seeds: 3,
      differs:
        "The settings of docs/research/recipes.md. The paper reports the best of three runs. Its times are " +
        "of an RTX 4080.",
      hours: 60,
    },
    small: {
      seeds: 3,
      differs:
        "2,000 spirals instead of 10,000. Adam instead of AdaBelief, for 20 epochs (Neural CDE: 5) instead " +
        "of 4,000. A batch size of 50 instead of the whole training set.",
      hours: 0.1,
    },
  },
};

/** WARP, appendix D.1: digits as series of pixels. */
export const warpSequentialMnist: PaperTable = {
  name: "warp-sequential-mnist",
  title: "Sequential MNIST at 14 by 14 pixels: test accuracy in percent",
  source: "Nzoyem et al., 2025, appendix D.1 (99.93 %; section 5.1 says 93 %)",
  columns: [{ title: "accuracy, %", experiment: "sequential-mnist", ...accuracy, digits: 2 }],
  rows: [
    { title: "GRU", model: "gru" },
    { title: "LSTM", model: "lstm" },
    { title: "S4D", model: "s4d", at: { small: { epochs: 15 } } },
    {
      title: "WARP",
      model: "warp",
      at: {
        paper: { recipe: "paper", ...valuesOf(recipes.sequentialMnist.settings) },
        small: { hidden: 16, learningRate: 0.0001 },
      },
      published: published("99.93"),
    },
  ],
  reference: "warp",
  scales: {
    paper: {
      settings: { samples: recipes.sequentialMnist.settings.samples.value },
      seeds: 3,
      differs:
        "WARP has the settings of docs/research/recipes.md. The paper's accuracy is that of the epoch with " +
        "the best test accuracy. Weft's is that of the epoch with the best validation accuracy. The other " +
        "models have Weft's settings.",
      hours: 500,
    },
    small: {
      settings: { epochs: 60, fromTestImages: true },
      seeds: 3,
      differs:
        "4,000 of the test images, 70 % of them for training. 60 epochs of Adam (S4D: 15). WARP's root " +
        "network has one hidden layer of 16 instead of three of 24.",
      hours: 1,
    },
  },
};
