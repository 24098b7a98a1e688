import type { SeriesSet } from "../../data/series.ts";
import { type Experiment, seriesSettings, type Settings } from "./experiment.ts";
import { readSeries, seriesExperiment } from "./series_experiment.ts";

/** Classifies series of your own: a table, or a problem in the format of the UEA archive. */
export const ownSeries: Experiment = seriesExperiment({
  name: "own-series",
  summary: "series of your own: a .csv table with the columns series, time, label and a column a channel",
  defaults: { epochs: 50, batchSize: 32, learningRate: 0.003, hidden: 32, drop: 0, model: "neural-cde" },
  takes: ["data", "drop", ...seriesSettings],
  make: readLabelled,
  read: readSeries,
  timeScale: (set) => 0.1 / typicalGap(set),
  width: 32,
  depth: 1,
});

async function readLabelled({ data }: Settings): Promise<SeriesSet> {
  if (!data) {
    throw new Error(
      "own-series needs data: name a .csv file, or a zip file or folder of .ts files, with --data",
    );
  }
  const set = await readSeries(data, { labels: true });
  if (set.classes.length < 2) {
    const found = set.classes.length === 0 ? "no column label" : `only the label "${set.classes[0]}"`;
    throw new Error(`${data}: ${found}; expected two labels or more to tell apart`);
  }
  const few = set.classes.findIndex((_, i) => set.series.filter(({ label }) => label === i).length < 3);
  if (few >= 0) {
    throw new Error(
      `${data}: fewer than three series of the label "${
        set.classes[few]
      }"; each label needs one to train, one to ` +
        "validate and one to test",
    );
  }
  return set;
}

/** The median of the times between observations that follow one another; 1 where no series has two. */
function typicalGap({ series }: SeriesSet): number {
  const gaps = series.flatMap(({ times }) => Array.from(times.subarray(1), (time, i) => time - times[i]))
    .sort((a, b) => a - b);
  return gaps[Math.floor(gaps.length / 2)] ?? 1;
}
