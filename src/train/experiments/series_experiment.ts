/** From series as they were read to a task: split, normalised, some observations dropped. */
import {
  type ChannelStatistics,
  channelStatistics,
  dropObservations,
  mapSplits,
  normalise,
  type Series,
  type SeriesSet,
  stratifiedSplit,
} from "../../data/series.ts";
import { key, split } from "../../tensor/random.ts";
import type { Task } from "../task.ts";
import { classification, type ClassificationOptions } from "./classification.ts";
import type { Settings } from "./experiment.ts";

/** What a problem chooses. */
export interface SeriesProblem extends Pick<ClassificationOptions, "width" | "depth" | "timeScale"> {
  /** How a report draws a series, normalised by these statistics: its channels over time by default. */
  draw?: (
    series: Series,
    statistics: readonly ChannelStatistics[],
  ) => ReturnType<ClassificationOptions["draw"]>;
}

/** Classifies series, split anew: 70 % to train, 15 % to validate, 15 % to test. */
export function classifySeries(complete: SeriesSet, settings: Settings, problem: SeriesProblem): Task {
  const { draw = drawChannels, ...sizes } = problem;
  const [splitKey, dropKey, modelKey] = split(key(settings.seed), 3);
  const set = dropObservations(complete, settings.drop, dropKey);
  const parts = stratifiedSplit(set.series, splitKey);
  const statistics = channelStatistics(parts.train, set.channels.length);
  const toUnits = (series: readonly Series[]) => normalise(series, statistics);
  return classification({
    set,
    splits: mapSplits<readonly Series[], Series[]>(parts, toUnits),
    normalise: toUnits,
    settings,
    key: modelKey,
    ...sizes,
    draw: (series) => draw(series, statistics),
  });
}

function drawChannels({ times, values }: Series, { length: channels }: readonly ChannelStatistics[]) {
  const curves = Array.from({ length: channels }, (_, channel) => ({
    x: times,
    y: values.filter((_, i) => i % channels === channel),
  }));
  return { curves, isPlane: false };
}
