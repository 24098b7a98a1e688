import { type Series, stratifiedSplit } from "../../data/series.ts";
import { spirals as makeSpirals } from "../../data/spirals.ts";
import { key, split } from "../../tensor/random.ts";
import { classification } from "./classification.ts";
import type { Experiment, Settings } from "./experiment.ts";

const series = 1000;

/** Tells clockwise from counter-clockwise spirals. */
export const spirals: Experiment = {
  name: "spirals",
  summary: "clockwise against counter-clockwise noisy spirals, made from the seed",
  defaults: { epochs: 10, batchSize: 32, learningRate: 0.003, hidden: 8, drop: 0, model: "neural-cde" },
  prepare(settings: Settings) {
    const [dataKey, splitKey, modelKey] = split(key(settings.seed), 3);
    const set = makeSpirals(series, dataKey);
    return classification({
      set,
      splits: stratifiedSplit(set.series, splitKey),
      normalise: (series) => series,
      settings,
      key: modelKey,
      width: 32,
      depth: 1,
      timeScale: 1,
      draw: ({ values }: Series) => ({
        curves: [{ x: values.filter((_, i) => i % 2 === 0), y: values.filter((_, i) => i % 2 === 1) }],
        isPlane: true,
      }),
    });
  },
};
