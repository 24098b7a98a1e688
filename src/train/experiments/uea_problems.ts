import type { Experiment } from "./experiment.ts";
import { ueaExperiment, type UeaProblem } from "./uea_experiment.ts";

/** A problem without a drawing or settings of a paper. */
type Plain = Pick<UeaProblem, "name" | "problem" | "summary" | "timeScale"> & {
  /** Settings that are not {@linkcode usual}. */
  defaults?: Partial<UeaProblem["defaults"]>;
  /** Number of hidden layers of a vector field, 1 by default. */
  depth?: number;
};

/** Settings of a run of minutes. */
const usual = { epochs: 50, batchSize: 32, learningRate: 0.003, hidden: 32 };

const problems: readonly Plain[] = [
  {
    name: "japanese-vowels",
    problem: "JapaneseVowels",
    summary: "nine speakers from two vowels in a row, 7 to 29 frames of 12 cepstral coefficients",
    timeScale: 0.1,
  },
  {
    name: "basic-motions",
    problem: "BasicMotions",
    summary: "what somebody does from a watch's sensors, 3 axes of acceleration and 3 of rotation",
    defaults: { batchSize: 16 },
    timeScale: 0.1,
  },
  {
    name: "eigenworms",
    problem: "EigenWorms",
    summary: "five kinds of worms from 17,984 frames of their movement",
    // Along log-signatures of windows, since single observations are too many.
    defaults: { model: "neural-rde" },
    depth: 3,
    timeScale: 0.001,
  },
  {
    name: "ethanol-concentration",
    problem: "EthanolConcentration",
    summary: "how much alcohol is in a bottle from three spectra",
    timeScale: 0.01,
  },
  {
    name: "heartbeat",
    problem: "Heartbeat",
    summary: "normal heart sounds against others from 61 bands of a spectrogram",
    timeScale: 0.01,
  },
  {
    name: "motor-imagery",
    problem: "MotorImagery",
    summary: "whether somebody imagines to move a finger or the tongue, from 64 electrodes",
    timeScale: 0.01,
  },
  {
    name: "self-regulation-scp1",
    problem: "SelfRegulationSCP1",
    summary: "whether somebody moves a cursor up or down by slow potentials of the cortex",
    timeScale: 0.01,
  },
  {
    name: "self-regulation-scp2",
    problem: "SelfRegulationSCP2",
    summary: "the same of somebody who is paralysed",
    timeScale: 0.01,
  },
];

/** Problems of the UEA archive that small networks learn. */
export const ueaProblems: readonly Experiment[] = problems.map(({ defaults, depth = 1, ...problem }) =>
  ueaExperiment({ ...problem, defaults: { ...usual, ...defaults }, width: 32, depth })
);
