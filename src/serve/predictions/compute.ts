/** Computes the answer to a request for predictions: reads the table, predicts its series, writes the answer. */
import { DataError } from "../../device/errors.ts";
import type { TableOptions } from "../../data/table/options.ts";
import type { TableSource } from "../../data/table/source.ts";
import type { Series, SeriesSet } from "../../data/series.ts";
import { gunzipped } from "../../data/unpack.ts";
import { concatenateBytes } from "../../files/memory.ts";
import type { ColumnNames } from "../../series/run/observation_stream.ts";
import type { Prediction } from "../../series/record/predictions.ts";
import type { TrainedModel } from "../../series/models/trained_model.ts";
import { answersPart, htmlHeaders } from "../pages/answer_parts.ts";
import { jsonOf, rowsOf } from "../http/json.ts";
import type { Limits } from "../limits.ts";
import { busy, RequestError } from "../http/problem.ts";

/** Media type of JSON lines. */
export const linesType = "application/x-ndjson";

/** A request for predictions. It can be passed to another thread. */
export interface PredictionJob {
  /** Body of the request, with or without gzip. */
  readonly bytes: Uint8Array;
  /** Maximum size of the body after decompression, in bytes. */
  readonly mostBytes: number;
  /** Format of the body. */
  readonly kind: "text" | "json";
  /** Options of the table. */
  readonly notation: TableOptions;
  /** Format of the answer. */
  readonly form: "json" | "lines" | "html";
}

/** The answer to a request for predictions. It can be passed to another thread. */
export interface ComputedAnswer {
  /** Body of the answer. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Headers of the answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Number of predicted series. */
  readonly count: number;
  /** The last predictions. */
  readonly latest: readonly Prediction[];
}

/** Computes answers. @throws {RequestError} If the request is rejected. */
export type Compute = (job: PredictionJob, signal: AbortSignal) => Promise<ComputedAnswer>;

/** Whether a body is compressed by gzip. */
export function isPacked(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** Error for a body that is larger than the limit. */
export function tooLarge(bytes: number): RequestError {
  return new RequestError(413, `a body of more than ${bytes} bytes: send it in parts, some series in each`);
}

/** Number of the last predictions of an answer. */
export const latestCount = 20;

/** Makes a function that computes answers in this thread. Other events are handled between batches. */
export function computeWith(
  model: Required<Pick<TrainedModel, "series" | "predict">>,
  names: ColumnNames,
  limits: Limits,
): Compute {
  return async ({ bytes, mostBytes, kind, notation, form }, signal) => {
    requireClient(signal);
    const set = await model.series(
      tableOf(isPacked(bytes) ? await unpacked(bytes, mostBytes) : bytes, kind, names, limits),
      notation,
    );
    requireShort(set, limits);
    const answers: Prediction[] = [];
    const texts: string[] = [];
    let size = 0;
    let count = 0;
    for await (const batch of predictedBatches(model, set, limits, signal)) {
      const lines = batch.map((answer) => JSON.stringify(answer));
      size += lines.reduce((sum, line) => sum + line.length, 0);
      if (size > limits.answerBytes) {
        throw new RequestError(
          413,
          `an answer of more than ${limits.answerBytes} bytes: send fewer series at once`,
        );
      }
      texts.push(...lines);
      count += batch.length;
      answers.push(...batch);
      if (form !== "html") answers.splice(0, answers.length - latestCount);
    }
    return {
      ...textOf(form, set, answers, texts),
      count,
      latest: answers.slice(-latestCount),
    };
  };
}

const encoder = new TextEncoder();

function textOf(
  form: PredictionJob["form"],
  { notices = [], ignored = [] }: SeriesSet,
  answers: readonly Prediction[],
  texts: readonly string[],
): Pick<ComputedAnswer, "body" | "headers"> {
  if (form === "html") {
    return { body: encoder.encode(answersPart(answers, [...notices, ...ignored])), headers: htmlHeaders };
  }
  const text = form === "lines"
    ? texts.map((line) => `${line}\n`).join("")
    : `{"answers":[${texts.join(",")}],"notices":${JSON.stringify(notices)},"ignored":${
      JSON.stringify(ignored)
    }}`;
  const type = form === "lines" ? linesType : "application/json";
  return { body: encoder.encode(text), headers: { "content-type": type } };
}

function requireClient(signal: AbortSignal): void {
  if (signal.aborted) throw new RequestError(400, "the client disconnected");
}

/** Decompresses a gzip body. */
async function unpacked(bytes: Uint8Array, mostBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const requireRoom = (more: number) => {
    if (size + more > mostBytes) throw tooLarge(mostBytes);
  };
  const budget = {
    addPacked() {},
    requireRoom,
    take: (more: number) => (requireRoom(more), void (size += more)),
  };
  try {
    for await (const part of gunzipped(ReadableStream.from([bytes]), "the body", budget)) parts.push(part);
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    throw new RequestError(400, "the body: gzip is damaged or truncated");
  }
  return concatenateBytes(parts);
}

function tableOf(bytes: Uint8Array, kind: "text" | "json", names: ColumnNames, limits: Limits): TableSource {
  if (bytes.length === 0) throw new RequestError(400, "an empty body; expected a table");
  const source = { name: "the body", maxFields: limits.fields, maxSeries: limits.series };
  if (kind === "text") return { ...source, bytes };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RequestError(400, "the body is not UTF-8; JSON must be UTF-8");
  }
  return { ...source, rows: rowsOf(jsonOf(text, limits.jsonDepth), names) };
}

/** Rejects long series and long names. */
function requireShort({ series }: SeriesSet, { observations, nameLength }: Limits): void {
  for (const { name, times } of series) {
    if (name.length > nameLength) {
      throw new RequestError(
        422,
        `a series has a name of ${name.length} characters, expected up to ${nameLength}: "${
          name.slice(0, 60)
        }..."`,
        {},
        { code: "too-large" },
      );
    }
    if (times.length > observations) {
      throw new RequestError(
        422,
        `series "${name}" has ${times.length} observations, more than ${observations}: send its latest ones`,
        {},
        { code: "too-large" },
      );
    }
  }
}

/** Maximum number of series in a batch, and of their rows, which are as many as those of the longest series. */
const [batchSize, batchRows] = [64, 2 ** 14];

/** The series in batches of limited memory. */
export function* batchesOf(series: readonly Series[]): Generator<readonly Series[]> {
  let [start, longest] = [0, 0];
  for (let i = 0; i < series.length; i++) {
    longest = Math.max(longest, series[i].times.length);
    const size = i + 1 - start;
    if (size > batchSize || size > 1 && size * longest > batchRows) {
      yield series.slice(start, i);
      [start, longest] = [i, series[i].times.length];
    }
  }
  if (start < series.length) yield series.slice(start);
}

/**
 * Predicts the series of a set in batches. A prediction does not depend on other series, so other requests
 * can be handled between batches.
 */
async function* predictedBatches(
  model: Required<Pick<TrainedModel, "predict">>,
  set: SeriesSet,
  { predictionSeconds }: Limits,
  signal: AbortSignal,
): AsyncGenerator<readonly Prediction[]> {
  const end = performance.now() + 1000 * predictionSeconds;
  for (const series of batchesOf(set.series)) {
    requireClient(signal);
    if (performance.now() > end) {
      throw busy(`the predictions took more than ${predictionSeconds} s: send fewer series at once`);
    }
    yield await model.predict({ ...set, series });
    await new Promise((resolve) => setTimeout(resolve));
  }
}
