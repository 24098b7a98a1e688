import type { ModelExperiment } from "@weft/weft/series";
import { cacheOf, readSpeechCommands } from "../data/speech_commands.ts";
import { seriesOptions } from "./options.ts";
import { kidgerSizes, recipeDefaults, ruleSettings } from "./recipe_defaults.ts";
import { paperExperiment } from "./classification_recipe.ts";
import { speechCommands as recipe } from "../recipes/neural_cde.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { someSeries } from "../data/some_series.ts";

const rules = valuesOf(recipe.rules);
const { hidden, width, depth } = rules;

const experiment = paperExperiment({
  name: "speech-commands",
  summary: "ten spoken words from cepstral coefficients",
  options: seriesOptions({
    ...{ epochs: 20, batchSize: 32, learningRate: 0.001, hidden, model: "neural-cde" },
    data: "data/speech_commands_v0.02.tar.gz",
  }, ["data", "drop", "samples"]),
  async make({ data, samples }, key) {
    const set = await readSpeechCommands(data!);
    return { ...set, series: someSeries(set.series, samples, key) };
  },
  async read(path) {
    if (typeof path !== "string") {
      throw new Error("speech-commands reads an archive of recordings, not a table");
    }
    return await readSpeechCommands(path);
  },
  timeScale: () => 1,
  ...{ width, depth },
  paper: rules,
  ...recipeDefaults(recipe.settings, { ...kidgerSizes(recipe.rules), ...ruleSettings(0) }, "neural-cde"),
});

/**
 * Classifies ten spoken words by their cepstral coefficients (Kidger et al., 2020, section 4.3 and appendix
 * D.4): 161 regular rows of 20 channels.
 */
export const speechCommands: ModelExperiment = {
  ...experiment,
  // The second path is the temporary file of an atomic write.
  caches: ({ data }) => [cacheOf(data!), `${cacheOf(data!)}.tmp`],
};
