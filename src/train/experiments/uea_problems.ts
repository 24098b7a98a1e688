/** Problems of the UEA archive. */
import type { ChannelStatistics, Series, SeriesSet } from "../../data/series.ts";
import { type Experiment, seriesSettings } from "./experiment.ts";
import { readSeries, seriesExperiment, type SeriesProblem, type TargetKind } from "./series_experiment.ts";

/** A problem of the UEA archive. */
interface UeaProblem extends Pick<SeriesProblem, "name" | "summary" | "paper" | "draw"> {
  /** The problem's name in the archive, and the file's in `data/`. */
  problem: string;
  /** Settings of a run that chooses none, beside {@linkcode usual}. */
  defaults?: Partial<Experiment["defaults"]>;
  /** Number of hidden layers of a vector field, 1 by default. */
  depth?: number;
  /** Names of the classes in the archive's order; the archive's by default. */
  classes?: readonly string[];
  /** Factor on times before they become a channel. */
  timeScale: number;
}

/** Settings of a run of minutes. */
const usual = { epochs: 50, batchSize: 32, learningRate: 0.003, hidden: 32, model: "neural-cde" };

const problems: readonly UeaProblem[] = [
  // Tells 20 letters apart by how a pen moved (Kidger et al., "Neural Controlled Differential Equations for Irregular Time
  // Series", 2020, section 4.1). Three channels: the velocity in x and y, and the force of the tip.
  {
    name: "character-trajectories",
    problem: "CharacterTrajectories",
    summary: "letters from the movement of a pen",
    // The archive's classes 1 to 20 are the letters that are written in one stroke.
    classes: [..."abcdeghlmnopqrsuvwyz"],
    depth: 3,
    // Appendix D.2. It names no rate of the readout's own, and the authors' code has none here.
    paper: { readoutRate: 1, stopAfter: 50, stopBy: "training accuracy", plateauOf: "validation loss" },
    // In units of ten observations: with single ones the untrained state grows large over the length of a series.
    timeScale: 0.1,
    draw: drawPath,
  },
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

/** Classifies a problem. */
function ueaExperiment({ problem, summary, defaults, classes, timeScale, depth = 1, ...rest }: UeaProblem) {
  const read = async (path: string, { targets }: { targets: TargetKind }): Promise<SeriesSet> => {
    const set = await readSeries(path, { targets, problem });
    return classes?.length === set.classes.length ? { ...set, classes } : set;
  };
  return seriesExperiment({
    ...{ ...rest, width: 32, depth, read },
    summary: `${summary} (UEA archive)`,
    defaults: { ...usual, ...defaults, drop: 0, data: `data/${problem}.zip` },
    takes: ["data", "drop", ...seriesSettings],
    make: ({ data }) => read(data!, { targets: "classes" }),
    timeScale: () => timeScale,
  });
}

/** Problems of the UEA archive that small networks learn. */
export const ueaProblems: readonly Experiment[] = problems.map(ueaExperiment);

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
