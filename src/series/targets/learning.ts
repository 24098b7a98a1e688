/** How models of series are trained: length, learning rates, optimiser and schedule. */
import type { ParameterTree } from "../../nn/layer.ts";
import { Adam } from "../../optim/adam.ts";
import { cosineDecay, multiplySchedules, warmup } from "../../optim/schedules.ts";
import { WeftError } from "../../device/errors.ts";
import { treeFlatten } from "../../tensor/tree.ts";
import type { Series, Splits } from "../../data/series.ts";
import type { Task } from "../../train/task.ts";
import type { DataRecord } from "../record/data_record.ts";
import { isWarp } from "../models/model_settings.ts";
import { trainingMemory } from "../models/trained_model.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** Minimum number of optimiser steps of a training run whose length is not given. */
const minSteps = 1000;
/** Minimum number of epochs of such a run. */
const minEpochs = 40;
/** Number of steps per epoch, at least: with fewer, validation and checkpoints would take most of the time. */
const epochSteps = 25;
/** Steps of warmup: their fraction of all steps, and their maximum number. */
const [warmupShare, maxWarmup] = [0.1, 100];

/** Length of a training run. */
interface TrainingLength {
  /** Number of epochs. */
  readonly epochs: number;
  /** Number of visits per epoch to each training series. */
  readonly visits: number;
  /** Number of optimiser steps of all epochs. */
  readonly steps: number;
}

/** Number of optimiser steps of a run whose length is not given: at least 1,000, and 40 visits to each sample. */
export function defaultSteps(samples: number, batchSize: number): number {
  return Math.max(minSteps, minEpochs * Math.ceil(samples / batchSize));
}

/**
 * Length of a training run: the given number of epochs; otherwise at least the wanted number of steps, in
 * epochs of 25 steps or more.
 *
 * @param samples Number of training samples.
 * @param wanted Number of steps, by default {@linkcode defaultSteps}.
 */
export function lengthOfTraining(
  { epochs, batchSize }: Pick<SeriesSettings, "epochs" | "batchSize">,
  samples: number,
  wanted?: number,
): TrainingLength {
  if (epochs !== undefined) {
    return { epochs, visits: 1, steps: epochs * Math.ceil(samples / batchSize) };
  }
  const targetSteps = wanted ?? defaultSteps(samples, batchSize);
  const visits = Math.max(1, Math.round(Math.min(targetSteps, epochSteps) * batchSize / samples));
  const perEpoch = Math.ceil(visits * samples / batchSize);
  const count = Math.ceil(targetSteps / perEpoch);
  return { epochs: count, visits, steps: count * perEpoch };
}

/** Maximum number of rows of a series that is not condensed by default: four times a typical series. */
const maxFullRows = 2048;
/** Minimum number of warmup steps of WARP's learning rate: with few series an epoch has few steps. */
const minWarmup = 20;

/**
 * Factors of the learning rates of WARP's weights: 128 / (n (depth + 1)) for a weight with n inputs, at most
 * 1.
 *
 * Adam changes every element of a weight by about the learning rate, so one step changes the norm of a weight
 * with n inputs by up to n times the rate. For A, n is the size of the state (163 with one hidden layer of 32
 * and 3 classes, 1,219 with two, 2,275 with three), and the change is raised to the power of the length of a
 * series: with the full rate the state overflows. The weights of phi, which computes the initial state, are
 * as wide. With these factors the change is about the same for every size (Yang and Hu, "Feature Learning in
 * Infinite-Width Neural Networks", 2021). The output is a product of the depth + 1 weights in the state, so
 * its relative change is depth + 1 times that of the state.
 *
 * Long series have noise that the powers of A would fit, also if they are condensed: their factors are also
 * divided by half the number of steps.
 *
 * @param depth Number of hidden layers of the root network.
 * @param seriesSteps Number of steps of a long series; undefined for short series, which are read row by row.
 */
function warpMultipliers(
  parameters: ParameterTree,
  depth: number,
  seriesSteps: number | undefined,
): Record<string, number> {
  const most = 128 / (depth + 1) * (seriesSteps === undefined ? 1 : Math.min(1, 2 / seriesSteps));
  return Object.fromEntries(
    treeFlatten(parameters).flatMap(([name, { rank, shape }]) =>
      rank === 2 && shape[1] > most ? [[name, most / shape[1]]] : []
    ),
  );
}

/** Options of {@linkcode gradientTraining}. */
interface GradientTrainingOptions {
  parameters: ParameterTree;
  settings: Pick<
    SeriesSettings,
    "learningRate" | "model" | "patience" | "task" | "depth" | "epochs" | "batchSize"
  >;
  record: Pick<DataRecord, "version" | "training" | "length" | "condensing">;
  /** Number of training samples. */
  samples: number;
}

/**
 * Length, optimiser, schedule, gradient clipping and stopping rule for users' own series: Adam, with the
 * gradients of each model clipped to a norm of 1. The learning rate warms up over the first 10 % of the
 * steps, at most 100, and then falls along half a cosine to zero at the last step. With `patience`, training
 * stops after that number of epochs without a better validation loss. For classification and regression, the
 * weights of WARP have smaller learning rates, which depend on their sizes, and warm up over at least 20
 * steps.
 */
export function gradientTraining(
  { parameters, settings, record, samples }: GradientTrainingOptions,
): Pick<
  Task,
  | "optimizer"
  | "schedule"
  | "checkTraining"
  | "clipNorm"
  | "isEnsemble"
  | "memory"
  | "stop"
  | "visits"
  | "epochs"
> {
  const { learningRate, patience, depth = 1 } = settings;
  const { ensemble = 1, found: planned } = record.training ?? {};
  const { epochs, visits, steps: optimizerSteps } = lengthOfTraining(settings, samples, planned?.steps);
  const { length, condensing } = record;
  const seriesSteps = Math.ceil(length / (condensing?.rows ?? 1));
  // Short series, which are read row by row, keep the full rate.
  const longSeriesSteps = condensing || seriesSteps > maxFullRows ? seriesSteps : undefined;
  // For forecasts, WARP has a smaller default learning rate instead.
  const isWarpOfSeries = isWarp(settings.model) && settings.task !== "forecast";
  const warmupSteps = Math.min(
    optimizerSteps,
    Math.max(Math.min(maxWarmup, warmupShare * optimizerSteps), isWarpOfSeries ? minWarmup : 0),
  );
  return {
    ...(settings.epochs === undefined ? { epochs, visits } : {}),
    optimizer: Adam(parameters, {
      learningRate,
      multipliers: isWarpOfSeries ? warpMultipliers(parameters, depth, longSeriesSteps) : {},
    }),
    schedule: multiplySchedules(warmup({ steps: warmupSteps }), cosineDecay({ steps: optimizerSteps })),
    ...(record.version === 1 ? { checkTraining: rejectVersion } : {}),
    // The loss of an ensemble is the mean over the members, so a member's gradient is divided by their number.
    clipNorm: 1 / ensemble,
    memory: trainingMemory,
    ...(ensemble > 1 ? { isEnsemble: true } : {}),
    ...(patience === undefined ? {} : {
      stop: { after: patience, unless: [{ part: "validation", measure: "loss", mode: "min", threshold: 0 }] },
    }),
  };
}

/**
 * Closed-form fit for users' own series: to the training set, and after its validation to the training and the
 * validation set. The penalty is chosen by leave-one-out, so the final fit needs no validation set.
 */
export function closedForm(
  fit: (series: readonly Series[]) => Promise<void>,
  { train, validation }: Splits<readonly Series[]>,
): Pick<Task, "fit" | "refit" | "epochs"> {
  return { epochs: 1, fit: () => fit(train), refit: () => fit([...train, ...validation]) };
}

/** @throws {WeftError} Always: Weft 0.1 wrote version 1 of the record, and its learning rate schedule no longer exists. */
function rejectVersion(): never {
  throw new WeftError(
    "unsupported-version",
    "the run was started with Weft 0.1 (version 1 of data.json), and Weft 0.2 cannot continue its training",
    {
      expected: "version 2 of data.json, which Weft 0.2 writes",
      fixes: [
        "continue the training with Weft 0.1 (the file starts.jsonl has the commit), or start a new run",
      ],
    },
  );
}
