import {
  channelStatistics,
  dropObservations,
  mapSplits,
  normalise,
  type Series,
  stratifiedSplit,
} from "../../data/series.ts";
import { readUea } from "../../data/uea.ts";
import { key, split } from "../../tensor/random.ts";
import { neuralCdeClassification } from "./classification.ts";
import type { Experiment, Settings } from "./experiment.ts";

const problem = "CharacterTrajectories";
/** What the archive's classes 1 to 20 stand for: the letters that are written in one stroke. */
const letters = [..."abcdeghlmnopqrsuvwyz"];

/**
 * A Neural CDE tells 20 letters apart by how a pen moved (Kidger et al., "Neural Controlled Differential Equations for
 * Irregular Time Series", 2020, section 4.1). Three channels: the velocity in x and y, and the force of the tip.
 */
export const characterTrajectories: Experiment = {
  name: "character-trajectories",
  summary: "letters from the movement of a pen, with observations missing (UEA archive)",
  defaults: {
    epochs: 50,
    batchSize: 32,
    learningRate: 0.003,
    hidden: 32,
    drop: 0,
    data: `data/${problem}.zip`,
  },
  async prepare(settings: Settings) {
    const [splitKey, dropKey, modelKey] = split(key(settings.seed), 3);
    const complete = await readUea(settings.data!, problem);
    const classes = complete.classes.length === letters.length ? letters : complete.classes;
    const set = dropObservations({ ...complete, classes }, settings.drop, dropKey);
    const parts = stratifiedSplit(set.series, splitKey);
    const statistics = channelStatistics(parts.train, set.channels);
    return neuralCdeClassification({
      set,
      splits: mapSplits<readonly Series[], Series[]>(parts, (part) => normalise(part, statistics)),
      settings,
      key: modelKey,
      width: 32,
      depth: 3,
      // In units of ten observations: with single ones the untrained state grows large over the length of a series.
      timeScale: 0.1,
      draw: (series) => drawPath(series, statistics),
    });
  },
};

/** The letter as it was written: the pen's velocity summed up over time. */
function drawPath({ values }: Series, statistics: ReturnType<typeof channelStatistics>) {
  const channels = statistics.length;
  const position = (channel: number) => {
    const { mean, standardDeviation } = statistics[channel];
    let [place, velocity] = [0, 0];
    return Float64Array.from({ length: values.length / channels }, (_, t) => {
      const observed = values[t * channels + channel] * standardDeviation + mean;
      // Where an observation is missing the pen is taken to go on as before.
      if (!Number.isNaN(observed)) velocity = observed;
      return place += velocity;
    });
  };
  return { curves: [{ x: position(0), y: position(1) }], isPlane: true };
}
