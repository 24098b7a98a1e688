import type { PaperTable, TableColumn } from "./table.ts";

/** Settings of the paper: table 7, appendix C.3. */
const paper = { recipe: "paper", batchSize: 3600, hidden: 148, depth: 1 } as const;
const hourly = { ...paper, epochs: 500, learningRate: 1e-5 };
const quarterly = { ...paper, epochs: 250, learningRate: 1e-4 };

/** WARP, figure 2: electricity, 96 steps from the previous 96. */
export const warpFigure2: PaperTable = {
  name: "warp-figure-2",
  title: "Electricity transformers, 96 steps from the 96 before: mean squared error on the test set",
  source: "Nzoyem et al., 2025, figure 2 (a picture: its numbers are not in the text)",
  columns: ["h1", "h2", "m1", "m2"].map((part): TableColumn => ({
    title: `ETT${part}`,
    experiment: `ett${part}`,
    at: {
      paper: part.startsWith("h") ? hourly : quarterly,
      small: { epochs: part.startsWith("h") ? 40 : 10 },
    },
    measure: "mse",
    factor: 1,
    digits: 3,
    better: "small",
  })),
  rows: [
    { title: "GRU", model: "gru", at: { small: { learningRate: 0.003 } } },
    { title: "LSTM", model: "lstm", at: { small: { learningRate: 0.003 } } },
    {
      title: "Transformer",
      model: "transformer",
      at: { paper: { learningRate: 6e-4 }, small: { learningRate: 0.003 } },
    },
    { title: "WARP", model: "warp" },
  ],
  reference: "warp",
  scales: {
    paper: {
      seeds: 3,
      differs:
        "The paper's settings (appendix C.3), on windows that begin at midnight instead of at every row, and measured on the test " +
        "months, which the paper leaves out.",
      hours: 100,
    },
    small: {
      seeds: 3,
      differs:
        "Root networks of a hidden layer of 6 instead of 148; Adam for 40 epochs (by the quarter of an hour: 10) instead of " +
        "AdaBelief for 500 (250); windows that begin at midnight instead of at every row.",
      hours: 0.5,
    },
  },
};
