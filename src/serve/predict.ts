/** `POST /predict`: returns a prediction for each series of a table. */
import type { TableSource } from "../data/table/read_table.ts";
import type { SeriesSet } from "../data/series.ts";
import type { ColumnNames } from "../series/observation_stream.ts";
import type { Prediction } from "../series/predictions.ts";
import type { TrainedModel } from "../series/trained_model.ts";
import { answersPart, htmlPart, wantsHtml } from "./answer_parts.ts";
import { receiveBody } from "./body.ts";
import { jsonOf, notationOf, rowsOf } from "./json.ts";
import type { Limits } from "./limits.ts";
import { busy, RequestError } from "./problem.ts";
import type { Service } from "./service.ts";

/** Media types of tables, with the format of their bodies. */
export const tableTypes: Readonly<Record<string, "text" | "json">> = {
  "text/csv": "text",
  "text/tab-separated-values": "text",
  "application/x-ndjson": "text",
  "application/jsonl": "text",
  "application/json": "json",
};

/** Media type of JSON lines. */
export const linesType = "application/x-ndjson";

/** Returns the predictions for the table of a request. */
export async function predict(request: Request, service: Service): Promise<Response> {
  const { limits, bodyBudget, predictions } = service;
  const kind = kindOf(request);
  const notation = notationOf(new URL(request.url).searchParams);
  using body = await receiveBody(request, bodyBudget, limits);
  if (body.bytes.length === 0) throw new RequestError(400, "an empty body; expected a table");
  return await predictions.run(async () => {
    const set = await service.model.series(tableOf(body.bytes, kind, service.names, limits), notation);
    requireShort(set, limits);
    const answers = await answersOf(service.model, set, limits, request.signal);
    service.onPredictions(answers);
    return respond(request, set, answers);
  });
}

function kindOf(request: Request): "text" | "json" {
  const type = request.headers.get("content-type")?.split(";")[0].trim().toLowerCase() ?? "";
  if (Object.hasOwn(tableTypes, type)) return tableTypes[type];
  const expected = Object.keys(tableTypes).join(", ");
  throw new RequestError(
    415,
    `${type === "" ? "no content-type" : `the content-type ${type} is not supported`}; expected ${expected}`,
    { "accept-post": expected },
  );
}

function tableOf(bytes: Uint8Array, kind: "text" | "json", names: ColumnNames, limits: Limits): TableSource {
  const source = { name: "the body", maxFields: limits.fields };
  if (kind === "text") return { ...source, bytes };
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new RequestError(400, "the body is not UTF-8; JSON must be UTF-8");
  }
  return { ...source, rows: rowsOf(jsonOf(text, limits.jsonDepth), names) };
}

function requireShort({ series }: SeriesSet, { observations }: Limits): void {
  const long = series.find(({ times }) => times.length > observations);
  if (!long) return;
  throw new RequestError(
    422,
    `series "${long.name}" has ${long.times.length} observations, more than ${observations}: send its latest ones`,
    {},
    { code: "too-large" },
  );
}

/** Number of series per batch. */
const batchSize = 64;

/**
 * Predicts the series of a set in batches. A prediction does not depend on other series, so other requests
 * can be handled between batches.
 */
async function answersOf(
  model: Pick<TrainedModel, "predict">,
  set: SeriesSet,
  { predictionSeconds }: Limits,
  signal: AbortSignal,
): Promise<Prediction[]> {
  const end = performance.now() + 1000 * predictionSeconds;
  const answers: Prediction[] = [];
  for (let start = 0; start < set.series.length; start += batchSize) {
    if (signal.aborted) throw new RequestError(400, "the client disconnected");
    if (performance.now() > end) {
      throw busy(`the predictions took more than ${predictionSeconds} s: send fewer series at once`);
    }
    answers.push(...await model.predict!({ ...set, series: set.series.slice(start, start + batchSize) }));
    await new Promise((resolve) => setTimeout(resolve));
  }
  return answers;
}

function respond(request: Request, set: SeriesSet, answers: readonly Prediction[]): Response {
  if (request.headers.get("accept")?.includes(linesType)) {
    const lines = answers.map((answer) => `${JSON.stringify(answer)}\n`).join("");
    return new Response(lines, { headers: { "content-type": linesType } });
  }
  const { notices = [], ignored = [] } = set;
  if (wantsHtml(request)) return htmlPart(answersPart(answers, [...notices, ...ignored]));
  return Response.json({ answers, notices, ignored });
}
