/** `POST /predict`: returns a prediction for each series of a table. */
import { wantsHtml } from "../pages/answer_parts.ts";
import { receiveBody } from "../http/body.ts";
import { linesType } from "./compute.ts";
import { notationOf } from "../http/json.ts";
import { RequestError } from "../http/problem.ts";
import type { Service } from "../service.ts";

/** Media types of tables, with the format of their bodies. */
export const tableTypes: Readonly<Record<string, "text" | "json">> = {
  "text/csv": "text",
  "text/tab-separated-values": "text",
  "application/x-ndjson": "text",
  "application/jsonl": "text",
  "application/json": "json",
};

/** Returns the predictions for the table of a request. */
export async function predict(request: Request, service: Service): Promise<Response> {
  const { limits, account, predictions } = service;
  const kind = kindOf(request);
  const notation = notationOf(new URL(request.url).searchParams);
  using received = await receiveBody(request, account, limits);
  const { body, headers, count, latest } = await predictions.answer(
    { bytes: received.bytes, kind, notation, form: formOf(request) },
    request.signal,
  );
  service.onPredictions(latest, count);
  return new Response(body, { headers });
}

function formOf(request: Request): "json" | "lines" | "html" {
  if (request.headers.get("accept")?.includes(linesType)) return "lines";
  return wantsHtml(request) ? "html" : "json";
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
