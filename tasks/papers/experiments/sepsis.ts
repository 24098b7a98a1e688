import type { ModelExperiment } from "@weft/weft/series";
import { readSepsis } from "../data/sepsis.ts";
import { seriesOptions } from "./options.ts";
import { kidgerSizes, recipeDefaults, ruleSettings } from "./recipe_defaults.ts";
import { paperExperiment } from "./classification_recipe.ts";
import { sepsis as recipe } from "../recipes/neural_cde.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { someSeries } from "../data/some_series.ts";

const rules = valuesOf(recipe.rules);
const { hidden, width, depth, positiveWeight, staticWidth } = rules;

/**
 * Predicts whether a patient in intensive care gets sepsis (Kidger et al., 2020, section 4.2 and appendix
 * D.3). The values known at admission determine the initial state. `--intensity` adds which values were
 * measured when.
 */
export const sepsis: ModelExperiment = paperExperiment({
  name: "sepsis",
  summary: "sepsis from 72 hours of mostly missing data",
  options: seriesOptions({
    ...{ epochs: 20, batchSize: 128, learningRate: 0.001, hidden, positiveWeight },
    ...{ model: "neural-cde", data: "data/sepsis" },
  }, ["data", "drop", "samples"]),
  async make({ data, samples, intensity }, key) {
    const set = await readSepsis(data!, { marks: intensity });
    return { ...set, series: someSeries(set.series, samples, key) };
  },
  async read(path, _, { intensity }) {
    if (typeof path !== "string") throw new Error("sepsis reads a folder of archives, not a table");
    return await readSepsis(path, { marks: intensity });
  },
  timeScale: () => 1,
  ...{ width, depth, staticWidth },
  paper: rules,
  ...recipeDefaults(
    recipe.settings,
    ({ intensity }) => ({ ...kidgerSizes(recipe.rules), ...ruleSettings(intensity ? 1 : 2) }),
    "neural-cde",
  ),
  metric: { name: "auc", mode: "max" },
});
