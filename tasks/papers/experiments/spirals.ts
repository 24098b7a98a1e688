import { splitKey as splitKey } from "@weft/weft";
import { type Series, spirals as makeSpirals } from "@weft/weft/data";
import { type ModelExperiment, readSeries, takeColumns } from "@weft/weft/series";
import type { Panel } from "@weft/weft/train";
import { drawPath } from "./draw_path.ts";
import { seriesOptions } from "./options.ts";
import { paperExperiment } from "./classification_recipe.ts";

const series = 1000;

/** Classifies spirals as clockwise or counter-clockwise. */
export const spirals: ModelExperiment = paperExperiment({
  name: "spirals",
  summary: "clockwise or counter-clockwise noisy spirals",
  options: seriesOptions({ epochs: 10, batchSize: 32, learningRate: 0.003, hidden: 8, model: "neural-cde" }),
  make: (_, key) => makeSpirals(series, key),
  read: readSeries,
  keys: (seed) => {
    const [data, split, model] = splitKey(seed, 3);
    return { data, split, drop: split, model };
  },
  timeScale: () => 1,
  scaling: () => "none",
  width: 32,
  depth: 1,
  draw: drawSpiral,
});

/** Draws a spiral of x and y in the plane. */
export function drawSpiral({ values }: Series): Panel {
  return drawPath("spiral", takeColumns(values, 2, [0]), takeColumns(values, 2, [1]));
}
