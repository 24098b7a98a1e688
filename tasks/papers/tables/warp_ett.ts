import { valuesOf } from "../recipes/recipe.ts";
import { baselines } from "../recipes/warp_dynamics.ts";
import { hourly, quarterly } from "../recipes/warp_ett.ts";
import type { PaperTable, TableColumn } from "./table.ts";

const { units } = valuesOf(hourly.rules);
const { transformerRate } = valuesOf(baselines.rules);

/** WARP, figure 2: electricity, 96 steps from the previous 96. */
export const warpFigure2: PaperTable = {
  name: "warp-figure-2",
  title: "Electricity transformers, 96 steps from the 96 before: mean squared error on the test set",
  source: "Nzoyem et al., 2025, figure 2 (a picture: its numbers are not in the text)",
  columns: ["h1", "h2", "m1", "m2"].map((part): TableColumn => ({
    title: `ETT${part}`,
    experiment: `ett${part}`,
    at: {
      paper: { recipe: "paper", ...valuesOf(part.startsWith("h") ? hourly.settings : quarterly.settings) },
      small: { epochs: part.startsWith("h") ? 40 : 10 },
    },
    measure: "mse",
    factor: 1,
    digits: 3,
    better: "small",
  })),
  rows: [
    { title: "GRU", model: "gru", at: { paper: { units }, small: { learningRate: 0.003 } } },
    { title: "LSTM", model: "lstm", at: { paper: { units }, small: { learningRate: 0.003 } } },
    {
      title: "Transformer",
      model: "transformer",
      at: { paper: { learningRate: transformerRate }, small: { learningRate: 0.003 } },
    },
    { title: "WARP", model: "warp" },
  ],
  chart: { bars: "mean squared error" },
  reference: "warp",
  scales: {
    paper: {
      seeds: 3,
      differs:
        "The settings are those of docs/research/recipes.md. Errors are those of the test months. The values " +
        "are scaled so that the training months range from -1 to 1. The paper's errors are of its validation " +
        "months. The Transformer has as many parameters as WARP. The paper's Transformer is Hugging Face's.",
      hours: 100,
    },
    small: {
      seeds: 3,
      differs:
        "Root networks with one hidden layer of 6 instead of 148. Adam for 40 epochs (ETTm1, ETTm2: 10) " +
        "instead of AdaBelief for 500 (250). Windows that begin at midnight instead of at every row. " +
        "Errors are of the test months, in standard deviations of the training months.",
      hours: 0.5,
    },
  },
};

/** Columns with the errors of a data set, with samples or means fed back. */
function fed(part: "h1" | "m1", noSampling: boolean): TableColumn[] {
  const column = warpFigure2.columns.find(({ experiment }) => experiment === `ett${part}`)!;
  const title = `ETT${part}, ${noSampling ? "means" : "samples"} fed`;
  const settings = noSampling ? { noSampling } : {};
  return [
    { ...column, title: `${title}: MSE`, settings },
    { ...column, title: `${title}: bits per dimension`, settings, measure: "bpd" },
  ];
}

/** WARP, figure 15: training with samples or means of the predicted distributions. */
export const warpFigure15: PaperTable = {
  name: "warp-figure-15",
  title: "Electricity transformers: WARP that feeds back samples or means in training",
  source: "Nzoyem et al., 2025, figure 15 (a picture of one forecast, without numbers)",
  columns: (["h1", "m1"] as const).flatMap((part) => [...fed(part, false), ...fed(part, true)]),
  rows: warpFigure2.rows.filter(({ model }) => model === "warp"),
  reference: "warp",
  scales: warpFigure2.scales,
};
