import { accuracy, type PaperTable, type Published, published, type TableRow } from "./table.ts";

/** A rule with the sizes of appendix B, table 3. */
function rule(
  title: string,
  model: string,
  signatureDepth: number,
  [hidden, feedForward, learningRate]: readonly [number, number, number],
  published: Published,
): TableRow {
  return {
    title: `${title}, depth ${signatureDepth}`,
    model,
    settings: { signatureDepth },
    at: { paper: { hidden, heads: 16, feedForward, learningRate } },
    published: [published],
  };
}

/** Sizes of Hebb, Oja and Delta with depth 2, which the paper calls RDE, and with depth 1, which is a CDE. */
const sizes = {
  2: { hebb: [160, 128, 3e-4], oja: [160, 128, 3e-4], delta: [128, 64, 1e-4] },
  1: { hebb: [160, 128, 3e-4], oja: [128, 64, 3e-4], delta: [128, 64, 1e-4] },
} as const;

/** Fast weights, table 2, and the models with two layers of appendix C.1. */
export const fastWeightsTable2: PaperTable = {
  name: "fast-weights-table-2",
  title: "EigenWorms along log-signatures of windows of 4: test accuracy in percent",
  source: "Irie et al., 2022, table 2 and appendix C.1",
  columns: [{ title: "accuracy, %", experiment: "eigenworms", settings: { window: 4 }, ...accuracy }],
  rows: [
    { title: "NRDE", model: "neural-rde", settings: { signatureDepth: 2 }, published: published("83.8±3") },
    rule("Hebb", "hebb-rde", 2, sizes[2].hebb, [45.6, 5.9]),
    rule("Oja", "oja-rde", 2, sizes[2].oja, [46.7, 7.5]),
    rule("Delta", "delta-rde", 2, sizes[2].delta, [87.7, 1.9]),
    {
      title: "NCDE",
      model: "neural-rde",
      settings: { signatureDepth: 1 },
      published: published("66.7±11.8"),
    },
    rule("Hebb", "hebb-rde", 1, sizes[1].hebb, [41, 6.5]),
    rule("Oja", "oja-rde", 1, sizes[1].oja, [49.7, 9.9]),
    rule("Delta", "delta-rde", 1, sizes[1].delta, [91.8, 3.4]),
    {
      ...rule("Delta, two layers", "delta-rde", 1, sizes[1].delta, [86.7, 4.1]),
      settings: { signatureDepth: 1, depth: 2 },
    },
  ],
  reference: "delta-rde",
  scales: {
    paper: {
      settings: {
        recipe: "paper",
        epochs: 1000,
        batchSize: 181,
        learningRate: 0.01,
        hidden: 32,
        method: "rk4",
      },
      seeds: 5,
      differs:
        "The paper's settings (appendix B), with 32 channels and a rate of 0.01 for NRDE and NCDE. The paper does not state these values, the sizes of its two layers (Weft uses the sizes of one layer) and its number " +
        "of epochs.",
      hours: 500,
    },
    small: {
      settings: { epochs: 10, hidden: 16, method: "midpoint" },
      seeds: 3,
      differs: "16 features, 10 epochs, the midpoint rule.",
      hours: 5,
    },
  },
};
