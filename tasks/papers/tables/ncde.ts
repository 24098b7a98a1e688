/** Neural CDE, tables 1 to 3. */
import { characterTrajectories, sepsis, speechCommands } from "../recipes/neural_cde.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { sepsisAuc, speechAccuracy } from "./speech_and_sepsis.ts";
import { accuracy, type PaperTable, published, type TableColumn, type TableRow } from "./table.ts";

/** The peak memory of a column's runs, in bytes times a factor. */
function memory(title: string, column: TableColumn, factor: number, digits: number): TableColumn {
  return { ...column, title, measure: "peak memory", factor, digits, better: "small" };
}

/** The models of all tables, with their published results. */
function rows(results: readonly string[], settings: readonly Partial<TableRow>[]): TableRow[] {
  const titles = {
    "gru-ode": "GRU-ODE",
    "gru-dt": "GRU-Δt",
    "gru-d": "GRU-D",
    "ode-rnn": "ODE-RNN",
    "neural-cde": "Neural CDE",
  };
  return Object.entries(titles).map(([model, title], i) => ({
    ...{ title, model, ...settings[i], published: published(results[i]) },
  }));
}

/**
 * Settings of the models in the paper's sizes: the models without a network as vector field have `wider` hidden
 * channels, and those without a differential equation have no solver method.
 */
function paperSizes(
  { recurrentHidden, odeRnnHidden, odeRnnWidth, hidden, width, depth }: Readonly<
    Record<"recurrentHidden" | "odeRnnHidden" | "odeRnnWidth" | "hidden" | "width" | "depth", number>
  >,
): Partial<TableRow>[] {
  const recurrent = { at: { paper: { hidden: recurrentHidden } } };
  const discrete = { ...recurrent, settings: { method: undefined } };
  return [
    ...[recurrent, discrete, discrete],
    { at: { paper: { hidden: odeRnnHidden, width: odeRnnWidth, depth } } },
    { at: { paper: { hidden, width, depth } } },
  ];
}

const characters = (drop: number): TableColumn => ({
  ...{ title: `${100 * drop} % dropped`, experiment: "character-trajectories", settings: { drop } },
  ...accuracy,
});

/** Settings of the models in table 1 whose vector field is not a network (appendix D.2). */
const { recurrentHidden } = valuesOf(characterTrajectories.rules);
const wider = { settings: { hidden: recurrentHidden } };
const discrete = { settings: { hidden: recurrentHidden, method: undefined } };
const ofCharacters = { batchSize: 32, hidden: 32, dataSeed: 0 };

/** Neural CDE, table 1: letters with missing observations. */
export const ncdeTable1: PaperTable = {
  name: "ncde-table-1",
  title: "CharacterTrajectories with observations dropped: test accuracy in percent",
  source: "Kidger et al., 2020, table 1",
  columns: [...[0.3, 0.5, 0.7].map(characters), memory("memory, MB", characters(0.3), 1e-6, 1)],
  rows: rows([
    "92.6±1.6 86.7±3.9 89.9±3.7 1.5",
    "93.6±2.0 91.3±2.1 90.4±0.8 15.8",
    "94.2±2.1 90.2±4.8 91.9±1.7 17",
    "95.4±0.6 96.0±0.3 95.3±0.6 14.8",
    "98.7±0.8 98.8±0.2 98.6±0.4 1.3",
  ], [wider, discrete, discrete]),
  reference: "neural-cde",
  scales: {
    paper: {
      settings: { recipe: "paper", dataSeed: 0, ...valuesOf(characterTrajectories.settings) },
      seeds: 5,
      differs:
        "The settings of docs/research/recipes.md. The time channel counts tens of observations instead of observations. The paper's memory is GPU memory. Weft's is the memory of the whole process, including 60 MB for Deno.",
      hours: 60,
    },
    small: {
      settings: { ...ofCharacters, epochs: 10, learningRate: 0.005, method: "midpoint" },
      seeds: 3,
      differs: "10 epochs instead of up to 1,000 with the paper's stopping rules. A learning rate of 0.005 " +
        "instead of 0.001. The midpoint rule instead of rk4. Three seeds instead of five.",
      hours: 0.5,
    },
  },
};

const auc = { factor: 1, digits: 3 };
const [withIntensity, without] = [sepsisAuc(true, auc), sepsisAuc(false, auc)];

/** Neural CDE, table 2: sepsis, with and without observational intensity. */
export const ncdeTable2: PaperTable = {
  name: "ncde-table-2",
  title: "Sepsis with and without observational intensity: area under the curve on the test set",
  source: "Kidger et al., 2020, table 2",
  columns: [
    ...[withIntensity, without],
    ...[memory("OI, MB", withIntensity, 1e-6, 0), memory("no OI, MB", without, 1e-6, 0)],
  ],
  rows: rows([
    "0.852±0.01 0.771±0.024 454 273",
    "0.878±0.006 0.84±0.007 837 826",
    "0.871±0.022 0.85±0.013 889 878",
    "0.874±0.016 0.833±0.02 696 686",
    "0.88±0.006 0.776±0.009 244 122",
  ], paperSizes(valuesOf(sepsis.rules))),
  reference: "neural-cde",
  scales: {
    paper: {
      seeds: 5,
      differs:
        "The settings of docs/research/recipes.md. Hours without a row are gaps in time instead of rows of missing values. The paper's memory is GPU memory. Weft's is the memory of the whole process.",
      hours: 1000,
    },
    small: {
      seeds: 3,
      differs:
        "4,000 of the 40,335 patients and 32 channels. 5 epochs of the midpoint rule instead of up to 200 " +
        "of rk4 with the paper's stopping rules. A batch size of 32 and a learning rate of 0.002. The " +
        "previous value replaces a missing value.",
      hours: 2,
    },
  },
};

/** Neural CDE, table 3: regular series. */
export const ncdeTable3: PaperTable = {
  name: "ncde-table-3",
  title: "Speech Commands: test accuracy",
  source: "Kidger et al., 2020, table 3",
  columns: [speechAccuracy(), memory("memory, GB", speechAccuracy(), 1e-9, 3)],
  rows: rows(
    ["47.9±2.9 0.164", "43.3±33.9 1.54", "32.4±34.8 1.64", "65.9±35.6 1.4", "89.8±2.5 0.167"],
    paperSizes(valuesOf(speechCommands.rules)),
  ),
  reference: "neural-cde",
  scales: {
    paper: {
      seeds: 5,
      differs:
        "The settings of docs/research/recipes.md. Series have 128 mel filters, as in the paper. The " +
        "paper's code has 64. The paper's memory is GPU memory. Weft's is the memory of the whole process.",
      hours: 2000,
    },
    small: {
      seeds: 3,
      differs:
        "2,000 of the 34,975 recordings and 32 channels. 10 epochs of the midpoint rule instead of up to " +
        "200 of rk4 with the paper's stopping rules. A batch size of 32 and a learning rate of 0.002.",
      hours: 3,
    },
  },
};
