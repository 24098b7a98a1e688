import {
  deltaWithIntensity,
  deltaWithoutIntensity,
  type RuleSizes,
  sepsis,
  speechCommands,
  table3,
} from "../recipes/fast_weights.ts";
import * as kidger from "../recipes/neural_cde.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { sepsisAuc, speechAccuracy } from "./speech_and_sepsis.ts";
import { type Chosen, type PaperTable, published, type TableRow } from "./table.ts";

/** Factor from the base rates of the paper to the rates of the runs. */
const { rateFactor } = valuesOf(speechCommands.rules);

function chosen([hidden, heads, feedForward, rate]: RuleSizes): Chosen {
  return { hidden, heads, feedForward, learningRate: rate * 1e-5 * rateFactor };
}

/** A rule with its published results. @param changes Settings in each column that differ from table 3. */
function rule(model: string, results: string, changes: readonly Chosen[] = []): TableRow {
  const [name, form] = model.split("-");
  const title = `${name[0].toUpperCase()}${name.slice(1)}, ${form === "ode" ? "direct" : "CDE"}`;
  const paper = table3[model].map((sizes, i) => ({ ...chosen(sizes), ...changes[i] }));
  return { title, model, paper, published: published(results) };
}

const auc = { factor: 100, digits: 1 };
const speech = valuesOf(speechCommands.settings);
const ofSepsis = valuesOf(sepsis.settings);

/** The baselines have the settings of the paper that their numbers come from. */
const baselineSpeech = valuesOf(kidger.speechCommands.settings);
const baselineSepsis = valuesOf(kidger.sepsis.settings);

function baseline(title: string, model: string, speech: Chosen, sepsis: Chosen, results: string): TableRow {
  const ofSepsis = { ...baselineSepsis, ...sepsis };
  const paper = [{ ...baselineSpeech, ...speech }, ofSepsis, ofSepsis];
  return { title, model, paper, published: published(results) };
}

const speechSizes = valuesOf(kidger.speechCommands.rules);
const sepsisSizes = valuesOf(kidger.sepsis.rules);

const scales: PaperTable["scales"] = {
  paper: {
    seeds: 5,
    differs:
      "The settings of docs/research/recipes.md. The authors published only the commands for Delta's " +
      "CDE. Hebb and Oja have the sizes of the paper's table 3, and the default options of the code.",
    hours: 3000,
  },
  small: {
    seeds: 3,
    differs: "2,000 of the 34,975 recordings for 10 epochs. 4,000 of the 40,335 patients for 5 epochs. 32 " +
      "features and four heads. The midpoint rule instead of rk4.",
    hours: 4,
  },
};

/** Fast weights, table 1. */
export const fastWeightsTable1: PaperTable = {
  name: "fast-weights-table-1",
  title: "Speech Commands (accuracy in percent) and sepsis (area under the curve, 10⁻²)",
  source: "Irie et al., 2022, table 1",
  columns: [speechAccuracy(speech), sepsisAuc(true, auc, ofSepsis), sepsisAuc(false, auc, ofSepsis)],
  rows: [
    baseline(
      "GRU-ODE",
      "gru-ode",
      { hidden: speechSizes.recurrentHidden },
      { hidden: sepsisSizes.recurrentHidden },
      "47.9±2.9 85.2±1 77.1±2.4",
    ),
    rule("hebb-ode", "82.8±1.1 90.4±0.4 82.9±0.7"),
    rule("oja-ode", "85.4±0.9 88.9±1.4 82.9±0.5"),
    rule("delta-ode", "81.5±3.8 89.8±1 84.5±2.9"),
    baseline(
      "NCDE",
      "neural-cde",
      { hidden: speechSizes.hidden, width: speechSizes.width, depth: speechSizes.depth },
      { hidden: sepsisSizes.hidden, width: sepsisSizes.width, depth: sepsisSizes.depth },
      "89.8±2.5 88±0.6 77.6±0.9",
    ),
    rule("hebb-cde", "89.5±0.3 89.9±0.6 85.7±0.3"),
    rule("oja-cde", "90±0.7 91.2±0.4 85.1±2.5"),
    rule("delta-cde", "90.2±0.2 90.9±0.2 84.5±0.7", [
      {},
      valuesOf(deltaWithIntensity.settings),
      valuesOf(deltaWithoutIntensity.settings),
    ]),
  ],
  reference: "neural-cde",
  scales,
};

/** Sizes of Hebb on Speech Commands. */
const hebb = chosen(table3["hebb-cde"][0]);

/** Fast weights, appendix C.2: keys from the derivative of x and values from x, or both from the derivative. */
export const fastWeightsAblation: PaperTable = {
  name: "fast-weights-ablation",
  title: "Where keys and values come from, on Speech Commands: test accuracy in percent",
  source: "Irie et al., 2022, appendix C.2 (below 65 % for each rule from the derivative alone)",
  columns: [speechAccuracy(speech)],
  rows: [
    {
      title: "Hebb, keys from x, values from x'",
      model: "hebb-cde",
      paper: [hebb],
      published: published("89.5±0.3"),
    },
    {
      title: "Hebb, keys from x', values from x",
      model: "hebb-cde-exchanged",
      paper: [hebb],
      published: published("83.9±0.4"),
    },
    ...["hebb", "oja", "delta"].map((name): TableRow => ({
      title: `${name[0].toUpperCase()}${name.slice(1)}, keys and values from x'`,
      model: `${name}-cde-derivative`,
      paper: [chosen(table3[`${name}-cde`][0])],
    })),
  ],
  reference: "hebb-cde",
  scales,
};
