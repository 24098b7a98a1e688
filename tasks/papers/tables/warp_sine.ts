import { sineSizes } from "../data/dynamics.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { massSpringDamper, physics, sine } from "../recipes/warp_dynamics.ts";
import { quarterly } from "../recipes/warp_ett.ts";
import { type PaperTable, published, type TableColumn } from "./table.ts";

const { zeroEpochs } = valuesOf(physics.rules);

/** WARP, figure 5: how many training waves a model needs. */
export const warpFigure5: PaperTable = {
  name: "warp-figure-5",
  title: "Waves to learn from: mean squared error on the test set (10⁻⁴)",
  source:
    "Nzoyem et al., 2025, figure 5 (its numbers are in the authors' code, data/dynamics/sine/neural_ode.py)",
  columns: Object.entries(sineSizes).map(([name, samples]): TableColumn => ({
    title: `${name}, ${samples.toLocaleString("en")}`,
    experiment: "sine",
    settings: { samples },
    at: {
      paper: { batchSize: samples },
      // 2,000 steps for every size.
      small: {
        batchSize: Math.max(Math.min(samples, 10), samples / 20),
        epochs: Math.max(1, Math.round(200 / Math.max(samples, 10))),
      },
    },
    measure: "loss",
    factor: 10_000,
    digits: 2,
    better: "small",
  })),
  rows: [
    {
      ...{ title: "Neural ODE", model: "neural-ode", at: { small: { learningRate: 0.003 } } },
      published: published("8157.1676 351.8130 319.7455 319.7455 319.7455"),
    },
    { title: "WARP", model: "warp", published: published("306.36 2.77 9.51 4.74 6.15") },
  ],
  chart: { x: Object.values(sineSizes), xLabel: "training waves", yLabel: "mean squared error (10⁻⁴)" },
  reference: "warp",
  scales: {
    paper: {
      // An epoch visits each wave 50 times.
      settings: { recipe: "paper", ...valuesOf(sine.settings) },
      seeds: 3,
      differs:
        "The settings of docs/research/recipes.md. The neural ODE has two hidden layers instead of three, " +
        "and trains like WARP.",
      hours: 2000,
    },
    small: {
      seeds: 3,
      differs:
        "Root networks with two hidden layers of 16 instead of three of 48. The vector field of the neural " +
        "ODE has the same layers. Adam for 2,000 steps of 1 to 500 waves instead of AdaBelief for 1,000 " +
        "steps of all waves.",
      hours: 0.3,
    },
  },
};

/** The percentages of figure 5, by model. */
const percentages: Readonly<Record<string, ReturnType<typeof published>>> = {
  "neural-ode": published("519.72 127.98 129.17 129.17 129.17"),
  "warp": published("218.62 12.39 27.87 22.75 28.06"),
};

/** WARP, figure 5: the mean absolute percentage error of the same runs. */
export const warpFigure5Mape: PaperTable = {
  ...warpFigure5,
  name: "warp-figure-5-mape",
  title: "Waves to learn from: mean absolute percentage error on the test set",
  source: warpFigure5.source,
  columns: warpFigure5.columns.map((column): TableColumn => ({ ...column, measure: "mape", factor: 100 })),
  rows: warpFigure5.rows.map((row) => ({ ...row, published: percentages[row.model] })),
  chart: {
    x: Object.values(sineSizes),
    xLabel: "training waves",
    yLabel: "mean absolute percentage error",
  },
};

/** WARP, table 11 and figures 11 and 13: ablations (section 3.4). */
export const warpAblations: PaperTable = {
  name: "warp-ablations",
  title: "WARP without its parts: test error (MSD-Zero: 10⁻², SINE*: 10⁻⁴)",
  source: "Nzoyem et al., 2025, section 3.4: table 11, figure 11 (its numbers are in the authors' code, " +
    "data/dynamics/sine/neural_ode.py), figure 13 (a picture: its numbers are not in the text)",
  columns: [
    {
      ...{ title: "MSD-Zero", experiment: "mass-spring-damper-zero", measure: "loss", factor: 100 },
      at: {
        paper: {
          ...{ recipe: "paper", ...valuesOf(massSpringDamper.settings) },
        },
        small: { epochs: 30 },
      },
      digits: 2,
      better: "small",
    },
    {
      ...{ title: "SINE*", experiment: "sine", measure: "loss", factor: 10_000, digits: 2, better: "small" },
      at: {
        paper: { recipe: "paper", ...valuesOf(sine.settings) },
      },
    },
    {
      ...{ title: "ETTm1", experiment: "ettm1", measure: "mse", factor: 1, digits: 3, better: "small" },
      at: {
        paper: { recipe: "paper", ...valuesOf(quarterly.settings) },
        small: { epochs: 10 },
      },
    },
  ],
  rows: [
    { title: "WARP", model: "warp", published: published("0.32 2.77±0.09 0.02") },
    {
      title: "without phi: theta_0 is learned",
      model: "warp-no-initial",
      published: published("1.02 ? 1.25"),
    },
    { title: "root at a fixed tau", model: "warp-fixed-tau" },
    { title: "diagonal A", model: "warp-diagonal" },
    { title: "A of rank 16", model: "warp-low-rank" },
    {
      ...{ title: "WARP-Phys", model: "warp-phys", paper: [{ epochs: zeroEpochs }] },
      published: published("0.04±0.01 0.62±0.01 -"),
    },
    { title: "WARP-Phys without a root", model: "warp-phys-no-root", published: published("- 251.46 -") },
  ],
  reference: "warp",
  scales: {
    paper: { seeds: 3, differs: "The settings of docs/research/recipes.md.", hours: 1600 },
    small: {
      seeds: 3,
      differs:
        "Root networks with one hidden layer of 16 (SINE: two) instead of three of 48. Adam for 30 epochs " +
        "(SINE: 20, each with 100 visits to a series) instead of AdaBelief for 1,000. 2,048 oscillations " +
        "of 64 observations, 25 given, instead of 20,480 of 256, 100 given. On ETTm1, a root network with " +
        "a hidden layer of 6 instead of 148, Adam for 10 epochs instead of AdaBelief for 250, and windows " +
        "that begin at midnight.",
      hours: 1,
    },
  },
};
