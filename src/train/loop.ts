import { checkOptions, namesOf } from "../device/options.ts";
import { profile, type RunProfile } from "../compile/inspect/profile/profile.ts";
import { batchSizes, epochOrder, inBatches, sampleCount } from "../data/batches.ts";
import { foldIn, type Key, splitKey } from "../tensor/random.ts";
import { tidy } from "../tensor/scope.ts";
import { type Tree, treeLeaves } from "../tensor/tree.ts";
import {
  chainDigest,
  loadCheckpoint,
  type Metadata,
  type Position,
  readState,
  saveCheckpoint,
  saveWeights,
  startPosition,
} from "./run/checkpoint.ts";
import { describeBounds, isWithin, size } from "./bounds.ts";
import { evaluate } from "./evaluate.ts";
import { checkFit } from "./fit.ts";
import { appendText } from "../files/disk.ts";
import { means, Meter } from "./meter.ts";
import { Pipeline } from "./pipeline.ts";
import { displayResult } from "./report/display_result.ts";
import type { EpochMetrics } from "./report/epoch_metrics.ts";
import { type RunFolder, truncateMetrics } from "./run/run_folder.ts";
import { checkChoices, checkNames, requireNames } from "./measure_checks.ts";
import { checkBest, checkPosition } from "./run/resume_checks.ts";
import { stepOf, type StepSplit } from "./step.ts";
import { stagnated } from "./stop.ts";
import type { Samples, Task } from "./task.ts";

/** Training stopped because the loss, or the validation metric, is not finite. */
export class NonFiniteLossError extends Error {
  /** `"NonFiniteLossError"`. */
  override name = "NonFiniteLossError";

  /** Makes an error about a loss. `what` is its name in the message, such as `"the loss"`. */
  constructor(
    /** Number of the epoch, from 1. */
    readonly epoch: number,
    /** Number of the optimiser step, from 1. */
    readonly step: number,
    /** The loss: NaN or an infinity. */
    readonly loss: number,
    what: string,
  ) {
    super(
      `${what} is ${loss} in epoch ${epoch} at step ${step}: training stopped, and the last good checkpoint stays; ` +
        "a smaller learning rate may help",
    );
  }
}

/** Progress of the current epoch. */
export interface Progress {
  /** Number of the epoch, from 1. */
  readonly epoch: number;
  /** Number of completed batches, from 1. */
  readonly batch: number;
  /** Number of batches per epoch. */
  readonly batches: number;
  /** Means of the measures over the epoch so far, by name. */
  readonly measures: Readonly<Record<string, number>>;
  /** Training samples per second, since training started or resumed. */
  readonly samplesPerSecond: number;
  /** Estimated seconds until the end of the last epoch. */
  readonly secondsLeft: number;
}

/** Options of {@linkcode train}. */
export interface TrainOptions {
  /** Number of epochs, at least 1. */
  epochs: number;
  /** Batch size, at least 1. The last batch of an epoch may have fewer samples. */
  batchSize: number;
  /** Random key of the order of samples and of the keys passed to `evaluate`. */
  key: Key;
  /** Folder of the run, which must exist; see {@linkcode runFolder}. */
  folder: RunFolder;
  /** Whether to resume from the folder's last checkpoint. False by default. */
  resume?: boolean;
  /** Texts to store with the weights, by name. */
  metadata?: Metadata;
  /** Called before training resumes, when the checkpoint is found to be valid. */
  onResume?: () => Promise<void>;
  /** Stops training after the current step, and saves the checkpoint. */
  signal?: AbortSignal;
  /**
   * Called with the loss of each optimiser step, and the number of the step, from 1. On a GPU the call follows
   * up to 64 steps later, since losses are read together.
   */
  onLoss?: (loss: number, step: number) => void;
  /** Called with the metrics of each epoch at its end. If it returns a promise, the next epoch waits for it. */
  onEpoch?: (metrics: EpochMetrics) => unknown;
  /**
   * Called with the progress about five times per second. On a GPU the measures are those of the batches that
   * the GPU has computed.
   */
  onProgress?: (progress: Progress) => void;
  /** Called when a step takes more memory than the task allows, so that it is computed in parts. */
  onSplit?: (split: StepSplit) => void;
}

const profileOptionNames = namesOf<Pick<TrainOptions, "batchSize" | "key">>()("batchSize key");

export const callbackNames = namesOf<
  Pick<TrainOptions, "signal" | "onLoss" | "onEpoch" | "onProgress">
>()("signal? onLoss? onEpoch? onProgress?");
const trainOptionNames = namesOf<TrainOptions>()(
  profileOptionNames,
  "epochs folder resume? metadata? onResume?",
  callbackNames,
  "onSplit?",
);

/** Result of {@linkcode train}. `deno jupyter` shows the curves. */
export interface TrainResult {
  /** Final position of training, with the best epoch. */
  readonly position: Position;
  /** Whether the signal stopped training before the last epoch. */
  readonly interrupted: boolean;
  /** Metrics of each complete epoch. */
  readonly metrics: readonly EpochMetrics[];
}

/** Minimum interval between progress reports, in milliseconds. A report follows a reading of the measures. */
const progressInterval = 100;

/**
 * Trains for a number of epochs, or until the task's stop rule applies. After each epoch, validates, writes
 * the weights to `best.safetensors` if they are the best so far, appends a line to `metrics.jsonl`, and saves
 * the checkpoint `last.safetensors`. Without a validation set the last weights are the best. Training can be
 * interrupted at any time. Resumed training gives the same numbers as uninterrupted training. A task with
 * `fit` has one epoch: its parameters are computed in closed form.
 *
 * @param task Model, data, optimiser and loss.
 * @throws {RangeError} If `epochs` or `batchSize` is not a positive integer, an option of the task is invalid,
 * or a task with `fit` has more than one epoch.
 * @throws {TypeError} If the task has both an optimiser and `fit`, or neither.
 * @throws {NonFiniteLossError} If the loss, the metric or a weight is not finite. The previous checkpoints
 * are kept.
 * @throws {Error} If the task does not return a measure of its metric or its stop rule.
 */
export async function train<Batch extends Tree>(
  task: Task<Batch, Samples<Batch>>,
  options: TrainOptions,
): Promise<TrainResult> {
  checkOptions("train", options, trainOptionNames);
  const { epochs, batchSize, folder, signal, onLoss, onEpoch, onProgress } = options;
  for (const [name, value] of Object.entries({ epochs, batchSize })) {
    if (isWithin(value, size)) continue;
    throw new RangeError(`train: ${name} is ${value}, expected a ${describeBounds(size)}`);
  }
  checkChoices(task);
  checkFit(task, epochs);
  const { optimizer, parameters, plateau, visits = 1 } = task;
  const trainingPlateau = task.plateauOf === "training" ? plateau : undefined;
  const [orderKey, stepKey] = splitKey(options.key);
  const count = sampleCount(task.data.train);
  const samples = visits * count;
  const rate = optimizer?.learningRate;

  let position: Position = { ...startPosition, samples };
  let metrics: EpochMetrics[] = [];
  const isComplete = () => position.epoch >= epochs || task.stop && stagnated(metrics, task.stop);
  if (options.resume) {
    position = await loadCheckpoint(folder.last, task);
    checkPosition(position, folder, { epochs, batchSize, samples, isFitted: !optimizer });
    await checkBest(position, folder);
    metrics = await truncateMetrics(folder, position.epoch, position.metrics);
  }
  if (!isComplete()) task.checkTraining?.();
  if (options.resume) {
    await options.onResume?.();
    if (plateau && position.plateau) plateau.state = position.plateau;
  }
  const clock = performance.now() - 1000 * position.seconds;
  const seconds = () => (performance.now() - clock) / 1000;
  const state = () => readState(task);
  if (!options.resume) await saveCheckpoint(folder.last, await state(), position, options.metadata);

  const { onSplit } = options;
  const takeStep = optimizer &&
    stepOf({ ...task, optimizer }, { sizes: batchSizes(samples, batchSize), onSplit });
  let isChecked = false;
  const pipeline = new Pipeline(treeLeaves(parameters)[0].memoryDevice);
  const started = performance.now();
  let trained = 0;
  const untrained = (epochs - position.epoch) * samples - position.sums.samples;
  while (!isComplete()) {
    const epoch = position.epoch + 1;
    if (position.batch === 0 && !signal?.aborted) await task.collect?.(epoch);
    let fitted: Record<string, number> | undefined;
    if (task.fit && !signal?.aborted) {
      await task.fit();
      fitted = await evaluate(task, task.data.train, batchSize);
    }
    const batches = fitted ? [] : inBatches(epochOrder(orderKey, epoch, count, visits), batchSize);
    const meter = new Meter(position.sums);
    let { batch, step } = position;
    const firstStep = step;
    const read = () =>
      meter.read((loss, i) => {
        if (!Number.isFinite(loss)) throw new NonFiniteLossError(epoch, firstStep + i + 1, loss, "the loss");
        trainingPlateau?.update(loss);
        onLoss?.(loss, firstStep + i + 1);
      });
    let shown = performance.now();
    for (; batch < batches.length && !signal?.aborted; batch++) {
      const factor = (task.schedule?.(step) ?? 1) * (plateau?.state.factor ?? 1);
      const positions = batches[batch];
      const key = foldIn(stepKey, step);
      const names = tidy(() => {
        const measures = takeStep!(positions, key, rate! * factor);
        meter.add(measures, positions.length);
        return Object.keys(measures);
      });
      if (!isChecked) checkNames(task, names);
      isChecked = true;
      step++;
      trained += positions.length;
      // Read the losses as soon as the plateau's average is complete, so that the next step has the new learning
      // rate, no matter when the pipeline reads.
      const isRead = trainingPlateau && step % trainingPlateau.average === 0
        ? await pipeline.finish(read)
        : await pipeline.next(read, meter.isFull);
      const now = performance.now();
      if (isRead && onProgress && now - shown > progressInterval && meter.sums.samples > 0) {
        shown = now;
        const samplesPerSecond = 1000 * trained / (now - started);
        onProgress({
          ...{ epoch, batch: batch + 1, batches: batches.length, measures: means(meter.sums) },
          ...{ samplesPerSecond, secondsLeft: (untrained - trained) / samplesPerSecond },
        });
      }
    }
    await pipeline.finish(read);
    const { sums } = meter;
    if (batch < batches.length) {
      const listening = trainingPlateau?.state ?? position.plateau;
      position = { ...position, batch, step, seconds: seconds(), sums, plateau: listening };
      await saveCheckpoint(folder.last, await state(), position, options.metadata);
      return displayResult({ position, interrupted: true, metrics }, task);
    }

    // Both read from the device, so they share the time of a wait.
    const [values, validation] = await Promise.all([state(), validate(task, batchSize, epoch, step)]);
    const training = fitted ?? means(sums);
    requireNames(task, { train: Object.keys(training), validation: Object.keys(validation) });
    const quality = qualityOf(task, training, validation);
    const isBest = !task.data.validation || !position.best ||
      isBetter(task.metric.mode, quality, position.best);
    if (!trainingPlateau) {
      plateau?.update(task.plateauOf === "validation loss" ? quality.loss : quality.value);
    }
    const measured: EpochMetrics = {
      epoch,
      step,
      ...(optimizer ? { learningRate: optimizer.learningRate } : {}),
      train: training,
      validation,
      seconds: seconds(),
    };
    const line = JSON.stringify(measured);
    position = {
      epoch,
      batch: 0,
      samples,
      step,
      seconds: measured.seconds,
      metrics: await chainDigest(position.metrics, line),
      sums: startPosition.sums,
      best: isBest ? { epoch, ...quality } : position.best,
      plateau: plateau?.state ?? null,
    };
    // In this order: if the process is killed in between, the repeated epoch writes the weights or the line
    // again.
    if (isBest) await saveWeights(folder.best, values, epoch, options.metadata);
    await appendText(folder.metrics, `${line}\n`);
    await saveCheckpoint(folder.last, values, position, options.metadata);
    metrics.push(measured);
    await onEpoch?.(measured);
  }
  if (optimizer) optimizer.learningRate = rate!;
  return displayResult({ position, interrupted: false, metrics }, task);
}

/** Metric and loss that decide which epoch is the best. */
type Quality = { readonly value: number; readonly loss: number };

/**
 * Evaluates the validation set. Returns an empty object if the task has no validation set.
 *
 * @throws {NonFiniteLossError} If the loss or the metric is not finite. A checkpoint cannot store such a
 * metric, and no later epoch could be better.
 */
async function validate<Batch extends Tree>(
  task: Task<Batch, Samples<Batch>>,
  batchSize: number,
  epoch: number,
  step: number,
): Promise<Record<string, number>> {
  const { data, metric } = task;
  if (!data.validation) return {};
  const validation = await evaluate(task, data.validation, batchSize);
  for (const name of ["loss", metric.name]) {
    const value = validation[name];
    if (value === undefined || Number.isFinite(value)) continue;
    throw new NonFiniteLossError(epoch, step, value, `the validation ${name}`);
  }
  return validation;
}

/** Quality of an epoch by the validation set, or by the training loss if there is no validation set. */
function qualityOf(
  { data, metric }: Pick<Task, "data" | "metric">,
  train: Readonly<Record<string, number>>,
  validation: Readonly<Record<string, number>>,
): Quality {
  if (!data.validation) return { value: train.loss, loss: train.loss };
  return { value: validation[metric.name], loss: validation.loss };
}

/** Whether an epoch is better than another: by the metric, or by the loss if the metrics are equal. */
function isBetter(mode: "min" | "max", one: Quality, other: Quality): boolean {
  if (one.value === other.value) return one.loss < other.loss;
  return mode === "max" ? one.value > other.value : one.value < other.value;
}

/**
 * Profiles one training step on a batch of training samples, after warmup steps for tracing and compilation.
 *
 * @param batchSize Batch size, at most the number of training samples.
 * @returns Times of the step's loops, batched passes, matrix products and copies; see `profile`.
 * @throws {TypeError} If the task has no optimiser.
 */
export async function profileStep<Batch extends Tree>(
  task: Task<Batch, Samples<Batch>>,
  options: Pick<TrainOptions, "batchSize" | "key">,
): Promise<RunProfile> {
  checkOptions("profileStep", options, profileOptionNames);
  const { batchSize, key } = options;
  const { optimizer } = task;
  if (!optimizer) {
    throw new TypeError(
      "profileStep: the task has no optimiser, so it has no training step; leave --profile out",
    );
  }
  const takeStep = stepOf({ ...task, optimizer }, { sizes: [batchSize] });
  const [positions] = inBatches(epochOrder(key, 1, sampleCount(task.data.train)), batchSize);
  return await profile(() => tidy(() => void takeStep(positions, key, optimizer.learningRate)));
}
