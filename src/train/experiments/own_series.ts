import type { SeriesSet } from "../../data/series.ts";
import { countLabels } from "./classification.ts";
import { type Experiment, seriesSettings, type Settings, taskSettings } from "./experiment.ts";
import { openForecast, prepareForecast } from "./series_forecast.ts";
import { windowModels } from "./window_models.ts";
import { seriesModels } from "./series_models.ts";
import { tableOptions } from "./recorded_series.ts";
import { readSeries, seriesExperiment, targetsOf, typicalGap } from "./series_experiment.ts";

/** Learns the class of each series, or its numbers. */
const ofWholeSeries: Experiment = seriesExperiment({
  name: "own-series",
  summary: "series of your own, from a table: --task classify, regress or forecast",
  defaults: {
    ...{ epochs: 40, batchSize: 16, learningRate: 0.005, hidden: 32, drop: 0 },
    model: "delta",
  },
  takes: [
    "data",
    "drop",
    "table",
    "scaling",
    ...seriesSettings,
    ...taskSettings,
  ],
  make: readTargets,
  read: readSeries,
  timeScale: (set) => 0.1 / typicalGap(set),
  width: 32,
  depth: 1,
  // As good as rk4 along splines, at half the cost.
  method: "midpoint",
  settles: true,
});

/** Learns from series of your own: a table, or a problem in the format of the UEA archive. */
export const ownSeries: Experiment = {
  ...ofWholeSeries,
  taskDefaults: {
    forecast: {
      epochs: 20,
      batchSize: 64,
      learningRate: 0.003,
      drop: undefined,
      horizon: 24,
      model: "linear",
    },
  },
  models: (task) => task === "forecast" ? windowModels : seriesModels,
  prepare: (settings, earlier) =>
    settings.task === "forecast"
      ? prepareForecast(settings, earlier)
      : ofWholeSeries.prepare(settings, earlier),
  open: (settings, record) =>
    settings.task === "forecast" ? openForecast(settings, record) : ofWholeSeries.open!(settings, record),
};

async function readTargets(settings: Settings): Promise<SeriesSet> {
  const { data } = settings;
  if (!data) {
    throw new Error(
      "own-series needs data: name a table, or a zip file or folder of .ts files, with --data",
    );
  }
  const set = await readSeries(data, { ...tableOptions(settings), targets: targetsOf(settings) });
  if (settings.task !== "regress") requireClasses(set);
  return set;
}

function requireClasses({ name, classes, series }: SeriesSet): void {
  if (classes.length < 2) {
    const found = classes.length === 0 ? "no column label" : `only the label "${classes[0]}"`;
    throw new Error(`${name}: ${found}; expected two labels or more to tell apart`);
  }
  const few = countLabels(series, classes.length).findIndex((count) => count < 3);
  if (few >= 0) {
    throw new Error(
      `${name}: fewer than three series of the label "${
        classes[few]
      }"; each label needs one to train, one to ` +
        "validate and one to test",
    );
  }
}
