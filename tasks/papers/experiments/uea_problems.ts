/** Problems of the UEA archive. */
import type { Series, SeriesSet } from "@weft/weft/data";
import { type DataRecord, type ModelExperiment, readSeries, type TargetKind } from "@weft/weft/series";
import type { Panel } from "@weft/weft/train";
import { drawPath } from "./draw_path.ts";
import { seriesOptions } from "./options.ts";
import { paperExperiment, type PaperProblem } from "./classification_recipe.ts";
import { characterTrajectories } from "../recipes/neural_cde.ts";
import * as warp from "../recipes/warp_uea.ts";
import { eigenworms, eigenwormsNrde, wormSizes } from "../recipes/fast_weights.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { recipeDefaults } from "./recipe_defaults.ts";

/** A problem of the UEA archive. */
interface UeaProblem
  extends Pick<PaperProblem, "name" | "summary" | "paper" | "warpScaling" | "defaultsFor" | "draw"> {
  /** The problem's name in the archive, and the name of its file in `data/`. */
  problem: string;
  /** Defaults of this problem that differ from {@linkcode defaultSettings}. */
  defaults?: Partial<typeof defaultSettings>;
  /** Features and number of hidden layers of a vector field, 32 and 1 by default. */
  width?: number;
  depth?: number;
  /** Names of the classes in the archive's order. By default the archive's names. */
  classes?: readonly string[];
  /** Factor on times before they become a channel. */
  timeScale: number;
}

/** Default settings, for runs of minutes. */
const defaultSettings = { epochs: 50, batchSize: 32, learningRate: 0.003, hidden: 32, model: "neural-cde" };

const { recurrentHidden, width, depth } = valuesOf(characterTrajectories.rules);
const recurrentSizes = Object.fromEntries(
  ["gru-ode", "gru-dt", "gru-d"].map((model) => [model, { hidden: recurrentHidden }]),
);

/** Settings on EigenWorms: WARP's, those of the fast weights with depth 2, and those of neural RDEs. */
const wormSettings = {
  "warp": valuesOf(warp.eigenworms.settings),
  "neural-rde": { ...valuesOf(eigenworms.settings), ...valuesOf(eigenwormsNrde.settings) },
  ...Object.fromEntries(
    Object.entries(wormSizes[2]).map(([rule, [hidden, feedForward, learningRate]]) =>
      [`${rule}-rde`, { ...valuesOf(eigenworms.settings), hidden, feedForward, learningRate }] as const
    ),
  ),
};

const problems: readonly UeaProblem[] = [
  // Classifies 20 letters by the motion of a pen (Kidger et al., "Neural Controlled Differential Equations
  // for Irregular Time Series", 2020, section 4.1). Three channels: the velocity in x and y, and the force of
  // the tip.
  {
    name: "character-trajectories",
    problem: "CharacterTrajectories",
    summary: "20 letters from the movement of a pen",
    // The archive's classes 1 to 20 are the letters that are written in one stroke.
    classes: [..."abcdeghlmnopqrsuvwyz"],
    ...{ width, depth },
    paper: valuesOf(characterTrajectories.rules),
    defaultsFor: recipeDefaults(characterTrajectories.settings, recurrentSizes).defaultsFor,
    // Time in units of ten observations. In units of one, the state of an untrained model would grow large
    // along a series.
    timeScale: 0.1,
    draw: drawLetter,
  },
  {
    name: "japanese-vowels",
    problem: "JapaneseVowels",
    summary: "nine speakers from two vowels",
    timeScale: 0.1,
  },
  {
    name: "basic-motions",
    problem: "BasicMotions",
    summary: "four activities from the sensors of a watch",
    defaults: { batchSize: 16 },
    timeScale: 0.1,
  },
  {
    name: "eigenworms",
    warpScaling: warp.eigenworms.rules.scaling.value,
    problem: "EigenWorms",
    summary: "five kinds of worms from 17,984 frames each",
    // Along log-signatures of windows, because there are too many single observations.
    defaults: { model: "neural-rde" },
    depth: eigenwormsNrde.settings.depth.value,
    paper: valuesOf(eigenworms.rules),
    defaultsFor: recipeDefaults({}, wormSettings, "neural-rde").defaultsFor,
    timeScale: 0.001,
  },
  {
    name: "ethanol-concentration",
    warpScaling: warp.ethanol.rules.scaling.value,
    ...recipeDefaults({}, { warp: valuesOf(warp.ethanol.settings) }),
    problem: "EthanolConcentration",
    summary: "the alcohol in a bottle from three spectra",
    timeScale: 0.01,
  },
  {
    name: "heartbeat",
    warpScaling: warp.heartbeat.rules.scaling.value,
    ...recipeDefaults({}, { warp: valuesOf(warp.heartbeat.settings) }),
    problem: "Heartbeat",
    summary: "normal or abnormal heart sounds",
    timeScale: 0.01,
  },
  {
    name: "motor-imagery",
    warpScaling: warp.motor.rules.scaling.value,
    ...recipeDefaults({}, { warp: valuesOf(warp.motor.settings) }),
    problem: "MotorImagery",
    summary: "imagined movement from 64 electrodes",
    timeScale: 0.01,
  },
  {
    name: "self-regulation-scp1",
    warpScaling: warp.scp1.rules.scaling.value,
    ...recipeDefaults({}, { warp: valuesOf(warp.scp1.settings) }),
    problem: "SelfRegulationSCP1",
    summary: "a cursor moved by cortical potentials",
    timeScale: 0.01,
  },
  {
    name: "self-regulation-scp2",
    warpScaling: warp.scp2.rules.scaling.value,
    ...recipeDefaults({}, { warp: valuesOf(warp.scp2.settings) }),
    problem: "SelfRegulationSCP2",
    summary: "cortical potentials of a paralysed person",
    timeScale: 0.01,
  },
];

/** The experiment of a problem. */
function ueaExperiment(
  { problem, summary, defaults, classes, timeScale, width = 32, depth = 1, ...rest }: UeaProblem,
) {
  const read = async (path: string, { targets }: { targets: TargetKind }): Promise<SeriesSet> => {
    // The papers merge the parts of the archive and split the series anew.
    const set = { ...await readSeries(path, { targets, problem }), testFrom: undefined };
    return classes?.length === set.classes.length ? { ...set, classes } : set;
  };
  return paperExperiment({
    ...{ ...rest, width, depth, read },
    summary: `${summary} (UEA)`,
    options: seriesOptions({ ...defaultSettings, ...defaults, drop: 0, data: `data/${problem}.zip` }, [
      "data",
      "drop",
    ]),
    make: ({ data }) => read(data!, { targets: "classes" }),
    timeScale: () => timeScale,
  });
}

/** Problems of the UEA archive that small networks can learn. */
export const ueaProblems: readonly ModelExperiment[] = problems.map(ueaExperiment);

/** Draws the written letter: the cumulative sum of the pen's velocity over time. */
function drawLetter({ values }: Series, { channels: statistics }: Pick<DataRecord, "channels">): Panel {
  const channels = statistics.length;
  const position = (channel: number) => {
    const { mean, standardDeviation } = statistics[channel];
    let [place, velocity] = [0, 0];
    return Float64Array.from({ length: values.length / channels }, (_, t) => {
      const observed = values[t * channels + channel] * standardDeviation + mean;
      // If an observation is missing, assume that the velocity is unchanged.
      if (!Number.isNaN(observed)) velocity = observed;
      return place += velocity;
    });
  };
  return drawPath("path of the pen", position(0), position(1));
}
