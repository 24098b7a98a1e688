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
import { readUea } from "../../data/uea.ts";
import { key, split } from "../../tensor/random.ts";
import { classification, type ClassificationOptions } from "./classification.ts";
import type { Experiment } from "./experiment.ts";

/** What distinguishes a problem of the UEA archive from the others. */
export interface UeaProblem extends Pick<ClassificationOptions, "width" | "depth" | "timeScale"> {
  /** The experiment's name. */
  name: string;
  /** The problem's name in the archive, and the file's in `data/`. */
  problem: string;
  summary: string;
  defaults: Omit<Experiment["defaults"], "data" | "drop" | "model">;
  /** What the archive's classes stand for, in its order; their names there by default. */
  classes?: readonly string[];
  /** How a report draws a series, normalised by these statistics: its channels over time by default. */
  draw?: (
    series: Series,
    statistics: readonly ChannelStatistics[],
  ) => ReturnType<ClassificationOptions["draw"]>;
}

/** Classifies a problem of the UEA archive, split anew: 70 % to train, 15 % to validate, 15 % to test. */
export function ueaExperiment(options: UeaProblem): Experiment {
  const { name, problem, summary, defaults, classes, draw = drawChannels, ...sizes } = options;
  return {
    name,
    summary: `${summary} (UEA archive)`,
    defaults: { ...defaults, drop: 0, model: "neural-cde", data: `data/${problem}.zip` },
    async prepare(settings) {
      const [splitKey, dropKey, modelKey] = split(key(settings.seed), 3);
      const complete = await readUea(settings.data!, problem);
      const named: SeriesSet = classes?.length === complete.classes.length
        ? { ...complete, classes }
        : complete;
      const set = dropObservations(named, settings.drop, dropKey);
      const parts = stratifiedSplit(set.series, splitKey);
      const statistics = channelStatistics(parts.train, set.channels);
      return classification({
        set,
        splits: mapSplits<readonly Series[], Series[]>(parts, (part) => normalise(part, statistics)),
        settings,
        key: modelKey,
        ...sizes,
        draw: (series) => draw(series, statistics),
      });
    },
  };
}

function drawChannels({ times, values }: Series, { length: channels }: readonly ChannelStatistics[]) {
  const curves = Array.from({ length: channels }, (_, channel) => ({
    x: times,
    y: values.filter((_, i) => i % channels === channel),
  }));
  return { curves, isPlane: false };
}
