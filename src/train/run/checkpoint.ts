/**
 * Checkpoints: safetensors files with the parameters under their dotted names, as in a PyTorch `state_dict`.
 * Checkpoints for resuming also have the optimiser's state under `optimizer.`, that of the task under `task.`,
 * and the position of the training run in the metadata.
 */

import { isFloat } from "../../device/dtype.ts";
import { loadParameters, type ParameterTree } from "../../nn/layer.ts";
import type { PlateauState } from "../../optim/schedules.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { treeFlatten } from "../../tensor/tree.ts";
import { sha256 } from "../../files/digest.ts";
import { isCount, isNumber, isNumbers, isRecord, parseJson } from "../../files/json.ts";
import { toHost, toTensors } from "../../files/save.ts";
import {
  type HostTensor,
  readCheckedSafetensors,
  SafetensorsError,
  writeSafetensors,
} from "../../files/safetensors.ts";
import type { Task } from "../task.ts";

/**
 * Position in a training run. It has no random state: random numbers depend only on the seed and these
 * numbers.
 */
export interface Position {
  /** Number of complete epochs. */
  readonly epoch: number;
  /** Number of completed batches of the next epoch. */
  readonly batch: number;
  /** Number of training samples. With another number, the order of the samples would differ. */
  readonly samples: number;
  /** Number of optimiser steps. */
  readonly step: number;
  /** Training time in seconds. */
  readonly seconds: number;
  /** SHA-256 over the lines of the complete epochs' metrics, in hexadecimal; empty before the first line. */
  readonly metrics: string;
  /** Sums of the measures over the samples in the completed batches of the next epoch. */
  readonly sums: MeasureSums;
  /**
   * The best epoch, with its metric and loss on the validation set; null before the end of the first epoch.
   */
  readonly best: { readonly epoch: number; readonly value: number; readonly loss: number } | null;
  /** State of the task's plateau, if the task has one. */
  readonly plateau: PlateauState | null;
}

/** Position before the first step. */
export const startPosition: Position = {
  epoch: 0,
  batch: 0,
  samples: 0,
  step: 0,
  seconds: 0,
  metrics: "",
  sums: { samples: 0, totals: {} },
  best: null,
  plateau: null,
};

/** Sums of measures over samples. */
export interface MeasureSums {
  /** Number of samples. */
  readonly samples: number;
  /** Sum of each measure over the samples, by name. */
  readonly totals: Readonly<Record<string, number>>;
}

const positionKey = "weft.position";
const epochKey = "weft.epoch";
const optimizerPrefix = "optimizer.";
const taskPrefix = "task.";

/** Texts that are stored with weights. */
export type Metadata = Readonly<Record<string, string>>;

/** Values of the parameters, the optimiser's state and the task's state, by their names in a checkpoint. */
type TrainingState = Readonly<Record<string, HostTensor>>;

/** The tensors that training changes. */
type Trained = Pick<Task, "parameters" | "optimizer" | "state">;

/** Reads the parameters, and the states of the optimiser and the task if they have one. */
export async function readState({ parameters, optimizer, state = {} }: Trained): Promise<TrainingState> {
  const withPrefix = (prefix: string, tensors: readonly (readonly [string, Tensor])[]) =>
    tensors.map(([name, x]) => [prefix + name, x] as const);
  return await toHost(Object.fromEntries([
    ...treeFlatten(parameters),
    ...withPrefix(optimizerPrefix, Object.entries(optimizer?.state.tensors ?? {})),
    ...withPrefix(taskPrefix, treeFlatten(state)),
  ]));
}

/** Saves only the parameters of an epoch, the best so far. */
export async function saveWeights(
  path: string,
  state: TrainingState,
  epoch: number,
  metadata: Metadata = {},
): Promise<void> {
  const tensors = separate(state).parameters;
  checkFinite(path, tensors);
  await writeSafetensors(path, { tensors, metadata: { ...metadata, [epochKey]: `${epoch}` } });
}

/**
 * Loads parameters in place.
 *
 * @throws {SafetensorsError} If the file is damaged or belongs to another model.
 */
export async function loadWeights(path: string, parameters: ParameterTree): Promise<void> {
  const { tensors, metadata } = await readCheckedSafetensors(path);
  readEpoch(path, metadata);
  assign(path, parameters, separate(tensors).parameters);
}

/**
 * Reads the epoch of saved weights.
 *
 * @throws {SafetensorsError} If the file is damaged, or has no epoch.
 */
export async function epochOfWeights(path: string): Promise<number> {
  return readEpoch(path, (await readCheckedSafetensors(path)).metadata);
}

/**
 * Epoch of weights from their metadata. Throws for a checkpoint, which has no epoch and cannot be used as
 * best weights.
 */
function readEpoch(path: string, metadata: Metadata): number {
  const epoch = parseJson(metadata[epochKey] ?? "");
  return isCount(epoch, 1) ? epoch : fail(path, "damaged: the metadata have no epoch");
}

/** Saves everything needed to resume training bit for bit. */
export async function saveCheckpoint(
  path: string,
  state: TrainingState,
  position: Position,
  metadata: Metadata = {},
): Promise<void> {
  checkFinite(path, state);
  const tensors = { ...state };
  await writeSafetensors(path, {
    tensors,
    metadata: { ...metadata, [positionKey]: JSON.stringify(position) },
  });
}

/**
 * Loads a checkpoint of {@linkcode saveCheckpoint}. Sets parameters, optimiser and the task's state in place.
 *
 * @returns Position of the training run.
 * @throws {SafetensorsError} If the file is damaged, is not a checkpoint, or belongs to another model.
 */
export async function loadCheckpoint(
  path: string,
  { parameters, optimizer, state = {} }: Trained,
): Promise<Position> {
  const { tensors, metadata } = await readCheckedSafetensors(path);
  const position = parsePosition(path, metadata[positionKey]);
  const separated = separate(tensors);
  assign(path, parameters, separated.parameters);
  assign(path, state, separated.task);
  try {
    optimizer?.load({ step: position.step, tensors: toTensors(separated.optimizer) });
  } catch (error) {
    throw new SafetensorsError(
      path,
      `the optimiser's state does not fit: ${(error as Error).message}`,
      "mismatched-weights",
    );
  }
  return position;
}

/** SHA-256 of a digest and a text. Chained over lines, it detects any changed line. */
export async function chainDigest(digest: string, text: string): Promise<string> {
  return await sha256(new TextEncoder().encode(digest + text));
}

function parsePosition(path: string, text: string | undefined): Position {
  if (text === undefined) {
    return fail(path, "has weights but no training position; expected a last.safetensors");
  }
  const position = parseJson(text);
  return isPosition(position) ? position : fail(path, `damaged: ${text} is not a valid training position`);
}

function isPosition(value: unknown): value is Position {
  if (!isRecord(value)) return false;
  const { epoch, batch, samples, step, seconds, metrics, sums, best, plateau } = value;
  return [epoch, batch, samples, step].every((count) => isCount(count)) &&
    isNumber(seconds) && seconds >= 0 && typeof metrics === "string" &&
    isRecord(sums) && isCount(sums.samples) && isNumbers(sums.totals) &&
    (best === null || isNumbers(best) && isCount(best.epoch, 1) && "value" in best && "loss" in best) &&
    (plateau === null || isRecord(plateau) && isNumber(plateau.factor) && isCount(plateau.waited) &&
        (plateau.best === null || isNumber(plateau.best)) &&
        (plateau.pending === undefined || isPair(plateau.pending)));
}

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(isNumber);
}

function fail(path: string, message: string): never {
  throw new SafetensorsError(path, message);
}

/** Separates the parameters in a file from the states of the optimiser and the task, whose names lose their prefix. */
function separate(
  tensors: TrainingState,
): Record<"parameters" | "optimizer" | "task", Record<string, HostTensor>> {
  const [parameters, optimizer, task]: Record<string, HostTensor>[] = [{}, {}, {}];
  for (const [name, x] of Object.entries(tensors)) {
    if (name.startsWith(optimizerPrefix)) optimizer[name.slice(optimizerPrefix.length)] = x;
    else if (name.startsWith(taskPrefix)) task[name.slice(taskPrefix.length)] = x;
    else parameters[name] = x;
  }
  return { parameters, optimizer, task };
}

function assign(path: string, parameters: ParameterTree, values: Record<string, HostTensor>): void {
  requireFinite(path, values);
  try {
    loadParameters(parameters, toTensors(values));
  } catch (error) {
    throw new SafetensorsError(
      path,
      `does not fit this model: ${(error as Error).message}`,
      "mismatched-weights",
    );
  }
}

/** @throws {SafetensorsError} If a value is not finite: such weights give no valid prediction. */
function requireFinite(path: string, values: Record<string, HostTensor>): void {
  for (const [name, { dtype, values: numbers }] of Object.entries(values)) {
    const wrong = isFloat(dtype) ? numbers.find((value) => !Number.isFinite(value)) : undefined;
    if (wrong !== undefined) throw new SafetensorsError(path, `damaged: ${name} contains ${wrong}`);
  }
}

/** @throws {RangeError} If a value is not finite: such weights must not replace a good checkpoint. */
function checkFinite(path: string, state: TrainingState): void {
  for (const [name, { dtype, values }] of Object.entries(state)) {
    if (isFloat(dtype) && !values.every(Number.isFinite)) {
      throw new RangeError(`${path}: not written, because ${name} has values that are not finite`);
    }
  }
}
