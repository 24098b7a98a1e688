import { eigenworms, eigenwormsNrde, wormSizes } from "../recipes/fast_weights.ts";
import { valuesOf } from "../recipes/recipe.ts";
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
    at: { paper: { hidden, feedForward, learningRate } },
    published: [published],
  };
}

const nrde = valuesOf(eigenwormsNrde.settings);

/** Fast weights, table 2, and the models with two layers of appendix C.1. */
export const fastWeightsTable2: PaperTable = {
  name: "fast-weights-table-2",
  title: "EigenWorms along log-signatures of windows of 4: test accuracy in percent",
  source: "Irie et al., 2022, table 2 and appendix C.1",
  columns: [{
    ...{ title: "accuracy, %", experiment: "eigenworms", ...accuracy, settings: { window: 4 } },
    at: { paper: { recipe: "paper", ...valuesOf(eigenworms.settings) } },
  }],
  rows: [
    {
      ...{ title: "NRDE", model: "neural-rde", settings: { signatureDepth: 2 }, at: { paper: nrde } },
      published: published("83.8±3"),
    },
    rule("Hebb", "hebb-rde", 2, wormSizes[2].hebb, [45.6, 5.9]),
    rule("Oja", "oja-rde", 2, wormSizes[2].oja, [46.7, 7.5]),
    rule("Delta", "delta-rde", 2, wormSizes[2].delta, [87.7, 1.9]),
    {
      title: "NCDE",
      model: "neural-rde",
      settings: { signatureDepth: 1 },
      at: { paper: nrde },
      published: published("66.7±11.8"),
    },
    rule("Hebb", "hebb-rde", 1, wormSizes[1].hebb, [41, 6.5]),
    rule("Oja", "oja-rde", 1, wormSizes[1].oja, [49.7, 9.9]),
    rule("Delta", "delta-rde", 1, wormSizes[1].delta, [91.8, 3.4]),
    {
      ...rule("Delta, two layers", "delta-rde", 1, wormSizes[1].delta, [86.7, 4.1]),
      settings: { signatureDepth: 1, depth: 2 },
    },
  ],
  reference: "delta-rde",
  scales: {
    paper: {
      seeds: 5,
      differs:
        "The settings of docs/research/recipes.md. The paper's results of NRDE and NCDE are those of " +
        "Morrill et al. (2021). The paper does not state their settings, so these models have the defaults " +
        "of the authors' code. The paper does not state the sizes of models with two layers, so they have " +
        "the sizes of one layer.",
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
