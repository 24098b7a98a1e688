import { ueaExperiment } from "./uea_experiment.ts";
import type { Experiment } from "./experiment.ts";

/** Tells nine speakers apart by how they say two vowels in a row: 7 to 29 frames of 12 cepstral coefficients. */
export const japaneseVowels: Experiment = ueaExperiment({
  name: "japanese-vowels",
  problem: "JapaneseVowels",
  summary: "speakers from two vowels",
  defaults: { epochs: 50, batchSize: 32, learningRate: 0.003, hidden: 32 },
  width: 32,
  depth: 1,
  timeScale: 0.1,
});
