import type { ChannelStatistics, Series } from "../../data/series.ts";
import { ueaExperiment } from "./uea_experiment.ts";
import type { Experiment } from "./experiment.ts";

/**
 * Tells 20 letters apart by how a pen moved (Kidger et al., "Neural Controlled Differential Equations for Irregular Time
 * Series", 2020, section 4.1). Three channels: the velocity in x and y, and the force of the tip.
 */
export const characterTrajectories: Experiment = ueaExperiment({
  name: "character-trajectories",
  problem: "CharacterTrajectories",
  summary: "letters from the movement of a pen",
  defaults: { epochs: 50, batchSize: 32, learningRate: 0.003, hidden: 32 },
  // The archive's classes 1 to 20 are the letters that are written in one stroke.
  classes: [..."abcdeghlmnopqrsuvwyz"],
  width: 32,
  depth: 3,
  // Appendix D.2. It names no rate of the readout's own, and the authors' code has none here.
  paper: { readoutRate: 1, stopAfter: 50, stopBy: "training accuracy", plateauOf: "validation loss" },
  // In units of ten observations: with single ones the untrained state grows large over the length of a series.
  timeScale: 0.1,
  draw: drawPath,
});

/** The letter as it was written: the pen's velocity summed up over time. */
function drawPath({ values }: Series, statistics: readonly ChannelStatistics[]) {
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
