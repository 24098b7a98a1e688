import { Adam, reduceOnPlateau, treeFlatten } from "@weft/weft";
import type { Scaling } from "@weft/weft/data";
import {
  type ClassificationRules,
  type ModelExperiment,
  seriesExperiment,
  type SeriesProblem,
} from "@weft/weft/series";
import type { Task } from "@weft/weft/train";
import type { PaperSeriesSettings } from "./options.ts";
import { learning, type LearningOptions } from "./recipe.ts";
import { speechCommands } from "../recipes/neural_cde.ts";
import { valuesOf } from "../recipes/recipe.ts";

/** Rules of the recipe `"paper"` of a problem: see tasks/papers/recipes. */
export interface PaperRules {
  /** Factor on the learning rate of the readout. */
  readonly readoutRate: number;
  /** Factor of the norms of the regularised parameters in the loss. */
  readonly l2Penalty: number;
  /** Loss that drives the learning rate schedule: the `"training"` loss of an epoch, or that of validation. */
  readonly plateauOf: "training" | "validation loss";
  /** Factor on the learning rate after `plateauPatience` epochs without improvement. */
  readonly plateauFactor: number;
  readonly plateauPatience: number;
  /** Relative change of the loss that counts as an improvement, by default that of PyTorch. */
  readonly plateauThreshold?: number;
  /** Number of epochs without improvement after which training ends. */
  readonly stopAfter: number;
  /** Metric that must improve. The training loss must improve too, unless the metric is alone. */
  readonly stopBy: "training accuracy" | "validation accuracy" | "validation accuracy alone";
  /** Relative changes of the training loss and of the accuracy that count as improvements; 0 by default. */
  readonly lossThreshold?: number;
  readonly accuracyThreshold?: number;
}

/** Whether a model is a WARP, by its name. */
const isWarp = (model?: string) => model?.startsWith("warp") ?? false;

/** Rules of a problem without a recipe. */
const defaultRules: PaperRules = valuesOf(speechCommands.rules);

/**
 * Optimizer, gradient clipping and stopping rule of a model that classifies series. `"short"`, for runs of
 * minutes: Adam, with gradients clipped to a norm of 1. `"paper"`, by default as Kidger et al., 2020, appendix
 * D.4: Adam, whose rate falls when the loss has not improved for `plateauPatience` epochs. Training stops when
 * the loss or the accuracy has not improved for `stopAfter` epochs.
 *
 * @param options `steps`: number of steps per epoch; `paper`: rules of the recipe `"paper"`.
 */
export function classificationLearning(
  { parameters, settings, steps, paper = defaultRules }: Omit<LearningOptions, "average"> & {
    paper?: PaperRules;
  },
): Pick<Task, "optimizer" | "plateau" | "plateauOf" | "clipNorm" | "stop"> {
  const { learningRate, recipe = "short" } = settings;
  if (recipe === "short") return { optimizer: Adam(parameters, { learningRate }), clipNorm: 1 };
  const { readoutRate, plateauOf, plateauFactor, plateauPatience, plateauThreshold } = paper;
  const { stopAfter, stopBy, lossThreshold = 0, accuracyThreshold = 0 } = paper;
  // In an ensemble each model has a readout.
  const readouts = treeFlatten(parameters).flatMap(([name]) =>
    /^(\d+\.)?readout(?=\.)/.exec(name)?.[0] ?? []
  );
  const multipliers = readoutRate === 1
    ? undefined
    : Object.fromEntries(readouts.map((name) => [name, readoutRate]));
  const accuracy = {
    part: stopBy === "training accuracy" ? "train" : "validation",
    measure: "accuracy",
    mode: "max",
    threshold: accuracyThreshold,
  } as const;
  return {
    optimizer: Adam(parameters, { learningRate, multipliers }),
    plateau: reduceOnPlateau({
      factor: plateauFactor,
      patience: plateauPatience,
      threshold: plateauThreshold,
      average: plateauOf === "training" ? steps : 1,
    }),
    plateauOf,
    stop: {
      after: stopAfter,
      unless: stopBy === "validation accuracy alone" ? [accuracy] : [
        { part: "train", measure: "loss", mode: "min", threshold: lossThreshold },
        accuracy,
      ],
    },
  };
}

/** A classification problem of the papers, with its training rules. */
export interface PaperProblem
  extends Omit<SeriesProblem<PaperSeriesSettings>, "rules" | "dataSeed" | "fill"> {
  /** Rules of the recipe `"paper"`. */
  paper?: PaperRules;
  /** Scaling of the channels for WARP with the recipe `"paper"`; by default that of the other models. */
  warpScaling?: Scaling | "none";
  /** Metric that selects the best epoch with the recipe `"short"`; the accuracy by default. */
  metric?: Task["metric"];
}

/** An experiment of the papers that classifies series, with the recipe from its settings. */
export function paperExperiment(
  { paper, metric, warpScaling, ...problem }: PaperProblem,
): ModelExperiment<PaperSeriesSettings> {
  return seriesExperiment({
    ...problem,
    rules: (settings) => rulesOf(settings, paper, metric),
    scaling: (settings) =>
      warpScaling && settings.recipe === "paper" && isWarp(settings.model)
        ? warpScaling
        : problem.scaling?.(settings),
    // Kidger et al., 2020, appendix D.3.
    fill: ({ recipe }) => recipe === "paper" ? "spline" : "hold",
    // Repetitions of the paper's runs share one split.
    dataSeed: ({ recipe, seed }) => recipe === "paper" ? 0 : seed,
  });
}

function rulesOf(
  settings: PaperSeriesSettings,
  paper: PaperRules = defaultRules,
  metric: Task["metric"] = { name: "accuracy", mode: "max" },
): ClassificationRules {
  if (settings.recipe !== "paper") {
    return {
      metric,
      learning: (parameters, steps) => classificationLearning({ parameters, settings, steps, paper }),
    };
  }
  // WARP is trained with the recipe of its paper.
  const ofWarp = isWarp(settings.model);
  return {
    // WARP's code has a logit for each of two classes.
    isBinary: !ofWarp,
    l2Penalty: ofWarp ? undefined : paper.l2Penalty,
    metric: { name: "accuracy", mode: "max" },
    learning: (parameters, steps) =>
      ofWarp
        ? learning({ parameters, settings, steps: steps * settings.epochs! })
        : classificationLearning({ parameters, settings, steps, paper }),
  };
}
