import { ueaExperiment } from "./uea_experiment.ts";
import type { Experiment } from "./experiment.ts";

/** Tells what the wearer of a watch does: three axes of acceleration and three of rotation, 100 times in ten seconds. */
export const basicMotions: Experiment = ueaExperiment({
  name: "basic-motions",
  problem: "BasicMotions",
  summary: "what somebody does from a watch's sensors",
  defaults: { epochs: 50, batchSize: 16, learningRate: 0.003, hidden: 32 },
  width: 32,
  depth: 1,
  timeScale: 0.1,
});
