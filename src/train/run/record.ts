/**
 * Record of a model's training data: `data.json` in a run's folder. It is written once, when training starts.
 */
import { WeftError } from "../../device/errors.ts";
import { digestOf } from "../../files/digest.ts";
import { readTextIfPresent } from "../../files/disk.ts";
import { isRecord } from "../../files/json.ts";
import type { DataDescription } from "../experiment.ts";
import { type RunFolder, writeJson } from "./run_folder.ts";

const fixes = ["restore the file, or train again"];

/** Writes a record with its digest. */
export async function writeRecord(path: string, record: DataDescription): Promise<void> {
  await writeJson(path, { ...record, digest: await recordDigest(record) });
}

/** Digest of a record. */
export async function recordDigest(record: DataDescription): Promise<string> {
  return await digestOf(JSON.stringify(record));
}

/**
 * Reads a record.
 *
 * @returns `undefined` if the file does not exist.
 * @throws {WeftError} If the file is damaged.
 */
export async function readRecord(path: string): Promise<DataDescription | undefined> {
  const text = await readTextIfPresent(path);
  if (text === undefined) return undefined;
  try {
    const content = JSON.parse(text);
    if (isRecord(content)) {
      const { digest, ...record } = content;
      if (digest === await recordDigest(record)) return record;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new WeftError("damaged-file", `${path}: damaged: the content does not match its digest`, { fixes });
}

/**
 * Checks that a record describes the data that weights were trained on.
 *
 * @param weights File of the weights, for the message.
 * @param digest Result of {@linkcode recordDigest} at the time of training, from the metadata of the weights.
 * @throws {WeftError} If the digest of the record differs.
 */
export async function requireRecordOf(
  weights: string,
  digest: string | undefined,
  { data }: RunFolder,
  record: DataDescription | undefined,
): Promise<void> {
  if (record && digest !== await recordDigest(record)) {
    throw new WeftError(
      "mismatched-weights",
      `${data}: does not describe the data that ${weights} was trained on`,
      { fixes },
    );
  }
}

/** Error of a run's folder without a data record. */
export function missingRecord({ path, data }: RunFolder): WeftError {
  return new WeftError(
    "unreadable-file",
    `${data}: no such file; the model of ${path} cannot be used without the record of its training data`,
    { fixes: ["train again"] },
  );
}

/** Error of a run without its best weights. @param best Path of the weights. */
export function missingBest(best: string): WeftError {
  return new WeftError("unreadable-file", `${best}: no such file: no epoch of the run has ended`, {
    option: "resume",
    fixes: [(write) => `resume the run with ${write("resume")}`],
  });
}
