import { sepsisAuc, speechAccuracy } from "./speech_and_sepsis.ts";
import { type Chosen, type PaperTable, published, type TableRow } from "./table.ts";

/**
 * Sizes of appendix B, table 3: features, heads, features of the feed-forward block, and the learning rate in
 * units of 1e-5.
 */
type Sizes = readonly [hidden: number, heads: number, feedForward: number, rate: number];

function chosen([hidden, heads, feedForward, rate]: Sizes): Chosen {
  return { hidden, heads, feedForward, learningRate: rate * 1e-5 };
}

/**
 * A rule, with its sizes and the published results on Speech Commands, and on sepsis with and without
 * observational intensity.
 */
function rule(model: string, sizes: readonly [Sizes, Sizes, Sizes], results: string): TableRow {
  const [name, form] = model.split("-");
  const title = `${name[0].toUpperCase()}${name.slice(1)}, ${form === "ode" ? "direct" : "CDE"}`;
  return { title, model, paper: sizes.map(chosen), published: published(results) };
}

const auc = { factor: 100, digits: 1 };

const scales: PaperTable["scales"] = {
  paper: { seeds: 5, differs: "The paper's settings (appendix B).", hours: 3000 },
  small: {
    seeds: 3,
    differs:
      "2,000 of the 34,975 recordings for 10 epochs, 4,000 of the 40,335 patients for 5; 32 features, four heads, the midpoint rule " +
      "instead of rk4.",
    hours: 4,
  },
};

/** Fast weights, table 1. */
export const fastWeightsTable1: PaperTable = {
  name: "fast-weights-table-1",
  title: "Speech Commands (accuracy in percent) and sepsis (area under the curve, 10⁻²)",
  source: "Irie et al., 2022, table 1",
  columns: [speechAccuracy, sepsisAuc(true, auc), sepsisAuc(false, auc)],
  rows: [
    {
      title: "GRU-ODE",
      model: "gru-ode",
      paper: [{ hidden: 160 }, { hidden: 187 }, { hidden: 187 }],
      published: published("47.9±2.9 85.2±1 77.1±2.4"),
    },
    rule("hebb-ode", [[128, 32, 512, 5], [160, 32, 64, 6], [32, 8, 64, 10]], "82.8±1.1 90.4±0.4 82.9±0.7"),
    rule("oja-ode", [[128, 32, 512, 5], [160, 32, 64, 6], [160, 32, 64, 4]], "85.4±0.9 88.9±1.4 82.9±0.5"),
    rule("delta-ode", [[160, 16, 80, 1], [128, 16, 64, 2], [80, 16, 64, 4]], "81.5±3.8 89.8±1 84.5±2.9"),
    {
      title: "NCDE",
      model: "neural-cde",
      paper: [{ hidden: 90, width: 40, depth: 4 }, ...Array(2).fill({ hidden: 49, width: 49, depth: 4 })],
      published: published("89.8±2.5 88±0.6 77.6±0.9"),
    },
    rule("hebb-cde", [[128, 32, 512, 5], [32, 8, 256, 6], [160, 32, 64, 4]], "89.5±0.3 89.9±0.6 85.7±0.3"),
    rule("oja-cde", [[128, 32, 512, 5], [80, 16, 64, 2], [160, 32, 64, 6]], "90±0.7 91.2±0.4 85.1±2.5"),
    rule("delta-cde", [[80, 4, 320, 5], [80, 16, 64, 3], [160, 32, 64, 4]], "90.2±0.2 90.9±0.2 84.5±0.7"),
  ],
  reference: "neural-cde",
  scales,
};

/** Sizes of Hebb on Speech Commands. */
const hebb = chosen([128, 32, 512, 5]);

/** Fast weights, appendix C.2: keys from the derivative of x and values from x. */
export const fastWeightsAblation: PaperTable = {
  name: "fast-weights-ablation",
  title: "Where Hebb's keys and values come from, on Speech Commands: test accuracy in percent",
  source: "Irie et al., 2022, appendix C.2 (its variants that read the derivative alone are left out)",
  columns: [speechAccuracy],
  rows: [
    {
      title: "keys from x, values from x'",
      model: "hebb-cde",
      paper: [hebb],
      published: published("89.5±0.3"),
    },
    {
      title: "keys from x', values from x",
      model: "hebb-cde-exchanged",
      paper: [hebb],
      published: published("83.9±0.4"),
    },
  ],
  reference: "hebb-cde",
  scales,
};
