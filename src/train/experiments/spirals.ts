import type { Series } from "../../data/series.ts";
import { spirals as makeSpirals } from "../../data/spirals.ts";
import { split as splitKey } from "../../tensor/random.ts";
import { takeColumns } from "../data_record.ts";
import { type Experiment, seriesSettings } from "./experiment.ts";
import { readSeries, seriesExperiment } from "./series_experiment.ts";

const series = 1000;

/** Tells clockwise from counter-clockwise spirals. */
export const spirals: Experiment = seriesExperiment({
  name: "spirals",
  summary: "clockwise against counter-clockwise noisy spirals, made from the seed",
  defaults: { epochs: 10, batchSize: 32, learningRate: 0.003, hidden: 8, model: "neural-cde" },
  takes: seriesSettings,
  make: (_, key) => makeSpirals(series, key),
  read: readSeries,
  keys: (seed) => {
    const [data, split, model] = splitKey(seed, 3);
    return { data, split, drop: split, model };
  },
  timeScale: () => 1,
  isScaled: false,
  width: 32,
  depth: 1,
  draw: drawSpiral,
});

/** A spiral of x and y in the plane. */
export function drawSpiral({ values }: Series) {
  return { curves: [{ x: takeColumns(values, 2, [0]), y: takeColumns(values, 2, [1]) }], isPlane: true };
}
