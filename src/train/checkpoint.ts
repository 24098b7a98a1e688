/**
 * Checkpoints: safetensors files whose tensors are the parameters under their dotted names, as in a PyTorch `state_dict`,
 * and, in one to go on from, the optimiser's state under `optimizer.` and the place in the training in the metadata.
 */

import { isFloat } from "../device/dtype.ts";
import { loadParameters, type ParameterTree } from "../nn/layer.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import type { PlateauState } from "../optim/schedules.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { flatten } from "../tensor/tree.ts";
import { sha256 } from "../files/digest.ts";
import { isCount, isNumber, isNumbers, isRecord, parseJson } from "../files/json.ts";
import { toHost, toTensors } from "../files/save.ts";
import {
  type HostTensor,
  readCheckedSafetensors,
  SafetensorsError,
  writeSafetensors,
} from "../files/safetensors.ts";

/** Position in a training. The random numbers' is not among it: they depend on the seed and on these numbers. */
export interface Position {
  /** Number of complete epochs. */
  readonly epoch: number;
  /** Number of batches of the next epoch that are done. */
  readonly batch: number;
  /** Number of samples in the training data: with another number the order of the batches would be another. */
  readonly samples: number;
  /** Number of steps of the optimiser. */
  readonly step: number;
  /** Seconds of training. */
  readonly seconds: number;
  /** SHA-256 over the lines of the complete epochs' metrics, in hexadecimal; empty before the first. */
  readonly metrics: string;
  /** Sums of the measures over the samples of the next epoch's batches that are done. */
  readonly sums: MeasureSums;
  /** Number of the best epoch, with its metric and loss on the validation samples; null before the first ends. */
  readonly best: { readonly epoch: number; readonly value: number; readonly loss: number } | null;
  /** State of the task's plateau, where it has one. */
  readonly plateau: PlateauState | null;
}

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

/** Texts that travel with weights. */
export type Metadata = Readonly<Record<string, string>>;

/** Saves the parameters of an epoch alone, the best so far. */
export async function saveWeights(
  path: string,
  parameters: ParameterTree,
  epoch: number,
  metadata: Metadata = {},
): Promise<void> {
  await writeSafetensors(path, {
    tensors: await toFiniteHost(path, Object.fromEntries(flatten(parameters))),
    metadata: { ...metadata, [epochKey]: `${epoch}` },
  });
}

/**
 * Loads parameters in place.
 *
 * @throws {SafetensorsError} If the file is damaged or belongs to another model.
 */
export async function loadWeights(path: string, parameters: ParameterTree): Promise<void> {
  const { tensors, metadata } = await readCheckedSafetensors(path);
  readEpoch(path, metadata);
  assign(path, parameters, parametersIn(tensors));
}

/**
 * The epoch of saved weights.
 *
 * @throws {SafetensorsError} If the file is damaged, or does not say.
 */
export async function epochOfWeights(path: string): Promise<number> {
  return readEpoch(path, (await readCheckedSafetensors(path)).metadata);
}

/** The epoch of weights by their metadata. A checkpoint has none, and is not taken for the best weights. */
function readEpoch(path: string, metadata: Metadata): number {
  const epoch = parseJson(metadata[epochKey] ?? "");
  return isCount(epoch, 1) ? epoch : fail(path, "damaged: it does not tell the epoch of its weights");
}

/** Saves everything that training needs to go on bit for bit. */
export async function saveCheckpoint(
  path: string,
  parameters: ParameterTree,
  optimizer: Optimizer,
  position: Position,
  metadata: Metadata = {},
): Promise<void> {
  const state = Object.entries(optimizer.state.tensors)
    .map(([name, x]) => [optimizerPrefix + name, x] as const);
  await writeSafetensors(path, {
    tensors: await toFiniteHost(path, Object.fromEntries([...flatten(parameters), ...state])),
    metadata: { ...metadata, [positionKey]: JSON.stringify(position) },
  });
}

/**
 * Loads what {@linkcode saveCheckpoint} saved, parameters and optimiser in place.
 *
 * @returns Where the training was.
 * @throws {SafetensorsError} If the file is damaged, holds no training, or belongs to another model.
 */
export async function loadCheckpoint(
  path: string,
  parameters: ParameterTree,
  optimizer: Optimizer,
): Promise<Position> {
  const { tensors, metadata } = await readCheckedSafetensors(path);
  const position = parsePosition(path, metadata[positionKey]);
  assign(path, parameters, parametersIn(tensors));
  try {
    optimizer.load({
      step: position.step,
      tensors: toTensors(optimizerStateIn(tensors)),
    });
  } catch (error) {
    throw new SafetensorsError(path, `the optimiser's state does not fit: ${(error as Error).message}`);
  }
  return position;
}

/** The SHA-256 of a digest and a text: folded over lines, it tells whether one of them was changed. */
export async function chainDigest(digest: string, text: string): Promise<string> {
  return await sha256(new TextEncoder().encode(digest + text));
}

function parsePosition(path: string, text: string | undefined): Position {
  if (text === undefined) {
    return fail(path, "holds weights alone and no training to go on with; expected a last.safetensors");
  }
  const position = parseJson(text);
  return isPosition(position) ? position : fail(path, `damaged: ${text} is no place in a training`);
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

/** The parameters among the tensors of a file. */
function parametersIn(tensors: Record<string, HostTensor>): Record<string, HostTensor> {
  return Object.fromEntries(Object.entries(tensors).filter(([name]) => !name.startsWith(optimizerPrefix)));
}

/** The optimiser's state among the tensors of a file, under its own names. */
function optimizerStateIn(tensors: Record<string, HostTensor>): Record<string, HostTensor> {
  const state = Object.entries(tensors).filter(([name]) => name.startsWith(optimizerPrefix));
  return Object.fromEntries(state.map(([name, x]) => [name.slice(optimizerPrefix.length), x]));
}

function assign(path: string, parameters: ParameterTree, values: Record<string, HostTensor>): void {
  requireFinite(path, values);
  try {
    loadParameters(parameters, toTensors(values));
  } catch (error) {
    throw new SafetensorsError(path, `does not fit this model: ${(error as Error).message}`);
  }
}

/** @throws {SafetensorsError} If a value is not finite: whoever wrote the file, no prediction would be one. */
function requireFinite(path: string, values: Record<string, HostTensor>): void {
  for (const [name, { dtype, values: own }] of Object.entries(values)) {
    const wrong = isFloat(dtype) ? own.find((value) => !Number.isFinite(value)) : undefined;
    if (wrong !== undefined) throw new SafetensorsError(path, `damaged: ${name} holds ${wrong}`);
  }
}

/** @throws {RangeError} If a value is not finite: no checkpoint may take the place of a good one then. */
async function toFiniteHost(
  path: string,
  tensors: Record<string, Tensor>,
): Promise<Record<string, HostTensor>> {
  const read = await toHost(tensors);
  for (const [name, { dtype, values }] of Object.entries(read)) {
    if (isFloat(dtype) && !values.every(Number.isFinite)) {
      throw new RangeError(`${path}: not written, since ${name} has values that are not finite`);
    }
  }
  return read;
}
