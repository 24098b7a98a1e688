/**
 * Measures forecasts without a model on WARP's repeat-copy task (docs/research/errata.md):
 *
 *     deno run tasks/papers/evidence/repeat_copy.ts [SERIES]
 *
 * prints half the mean squared error over all steps, the measure of the authors' code, for out-of-distribution
 * test series of 256 observations, times 100.
 */
import { key } from "@weft/weft";
import { lotkaVolterra, repeatCopy, type RepeatCopyOptions } from "../data/dynamics.ts";
import { rescale, type Trajectories, valueRange } from "../data/trajectories.ts";
import { markdownTable } from "../../markdown.ts";

/** Copies of the paper's text, and of the authors' data generator. */
const layouts: Readonly<Record<string, RepeatCopyOptions>> = {
  "three copies, 10 between them (paper)": { spacing: 10, copies: 3 },
  "copies to the end, 50 between them (code)": { spacing: 50, copies: Infinity },
};

function halfMse(predicted: ArrayLike<number>, targets: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < targets.length; i++) sum += (predicted[i] - targets[i]) ** 2;
  return sum / targets.length / 2;
}

/** The mean of series at each step and channel, repeated for `count` series. */
function meanSeries(
  { values, shape: [series, length, channels] }: Trajectories,
  count: number,
): Float64Array {
  const size = length * channels;
  const mean = new Float64Array(size);
  values.forEach((value, i) => mean[i % size] += value / series);
  return Float64Array.from({ length: count * size }, (_, i) => mean[i % size]);
}

if (import.meta.main) {
  const count = Number(Deno.args[0] ?? 1000);
  const rows = [["ranges", "copies", "the shown part, then -1", "mean of the training series"]];
  for (const ranges of ["paper", "code"] as const) {
    const train = await lotkaVolterra(count, key(1), { ranges });
    const test = await lotkaVolterra(count, key(2), { ranges, regime: "outOfDistribution" });
    const range = valueRange(train);
    for (const [name, options] of Object.entries(layouts)) {
      const learned = repeatCopy(rescale(train, range), key(3), options);
      const { inputs, targets } = repeatCopy(rescale(test, range), key(4), options);
      const errors = [inputs.values, meanSeries(learned.targets, count)].map((predicted) =>
        (100 * halfMse(predicted, targets.values)).toFixed(2)
      );
      rows.push([ranges, name, ...errors]);
    }
  }
  console.log(markdownTable(rows, [0, 1]));
}
