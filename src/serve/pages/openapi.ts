/** OpenAPI 3.1 description of a server (https://spec.openapis.org/oas/v3.1.0). */
import type { DataRecord } from "../../series/record/data_record.ts";
import { targetChannelsOf } from "../../series/read/forecast_windows.ts";
import { rangeCodes } from "../../series/record/predictions.ts";
import { tableNotations } from "../http/notations.ts";
import { linesType } from "../predictions/compute.ts";
import { tableTypes } from "../predictions/predict.ts";
import { type ProblemFields, type ProblemStatus, problemStatuses, problemType } from "../http/problem.ts";
import type { Service } from "../service.ts";

/** A JSON schema. */
type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: "string" };
const number: Schema = { type: "number" };
const time: Schema = { type: ["number", "string"], description: "A number, or a date as in ISO 8601." };
const objectOf = (
  properties: Readonly<Record<string, Schema>>,
  required = Object.keys(properties),
): Schema => ({
  ...{ type: "object", properties, required },
});
const listOf = (items: Schema): Schema => ({ type: "array", items });
const mapOf = (additionalProperties: Schema): Schema => ({ type: "object", additionalProperties });
const reference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const content = (schema: Schema, type = "application/json") => ({ [type]: { schema } });

/** Members of problem details, in addition to the members of RFC 9457. */
const problemFields: Readonly<Record<keyof ProblemFields, Schema>> = {
  code: text,
  option: text,
  row: { type: "integer", minimum: 1 },
  column: text,
  expected: text,
  fix: text,
  pointer: text,
};

/** Columns of a record's table, each with its content. */
export function columnsOf({ channels, columns }: DataRecord): Record<string, "number" | readonly string[]> {
  return Object.fromEntries(channels.map(({ name, column = name }) => {
    const kind = columns?.[column];
    return [column, Array.isArray(kind) ? kind : "number"];
  }));
}

/** Describes a service. The schemas contain the columns and the classes of its run. */
export function openApiOf(service: Service): Schema {
  const { name, limits } = service;
  return {
    openapi: "3.1.0",
    info: {
      title: `Weft: ${name}`,
      version: "1",
      description:
        "Predictions of a trained model about whole series, and about series while their observations arrive.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    paths: {
      "/predict": { post: predictOperation(limits.bodyBytes) },
      "/stream": {
        get: {
          operationId: "stream",
          summary: "A WebSocket that takes observations and answers each",
          description:
            "A message is a JSON object: the client's are `ToServer`, the server's `FromServer` below.",
          responses: { "101": { description: "The WebSocket is open." }, ...problems(403, 426, 501, 503) },
        },
      },
      "/latest": get("latest", "The latest answers, newest first", {
        ...content(reference("Latest")),
        ...content(text, "text/html"),
      }),
      "/health": get("health", "Whether the server can compute answers", content(reference("Health")), {
        responses: {
          "503": {
            description: "There was an internal error since the last prediction.",
            content: content(reference("Health")),
          },
        },
      }),
      "/metrics": get(
        "metrics",
        "Counts and latencies in the text format of Prometheus",
        content(text, "text/plain"),
        { description: "The metrics." },
      ),
      "/openapi.json": get("openapi", "This description", content({ type: "object" }), {
        description: "OpenAPI 3.1.",
      }),
      "/": get(
        "page",
        "A page with the model, a form that predicts a table, and the latest answers",
        content(text, "text/html"),
        { description: "The page." },
      ),
    },
    components: { schemas: schemasOf(service) },
  };
}

/** A path with a GET operation. */
function get(
  operationId: string,
  summary: string,
  content: Readonly<Record<string, unknown>>,
  { description = `${summary}.`, responses = {} }: {
    description?: string;
    /** Responses by status, in addition to the responses of every path. */
    responses?: Readonly<Record<string, unknown>>;
  } = {},
) {
  return {
    get: {
      operationId,
      summary,
      responses: { "200": { description, content }, ...problems(403, 500), ...responses },
    },
  };
}

function problems(...statuses: readonly ProblemStatus[]) {
  return Object.fromEntries(
    statuses.map((status) => [
      `${status}`,
      { description: "The error, in a sentence.", content: content(reference("Problem"), problemType) },
    ]),
  );
}

function predictOperation(bodyBytes: number) {
  return {
    operationId: "predict",
    summary: "Predicts the series of a table",
    description: `The table may be compressed by gzip, and has at most ${bodyBytes} bytes.`,
    parameters: Object.entries(tableNotations).map(([name, choices]) => ({
      ...{ name, in: "query", required: false, schema: { type: "string", enum: choices } },
      description: "Has the meaning of the same flag of `deno task predict`.",
    })),
    requestBody: {
      required: true,
      content: Object.fromEntries(
        Object.entries(tableTypes).map(([type, kind]) => [
          type,
          { schema: kind === "json" ? reference("SeriesTable") : text },
        ]),
      ),
    },
    responses: {
      "200": {
        description: "A prediction for each series, in the order of the table.",
        content: {
          ...content(reference("Answers")),
          ...content(text, linesType),
          ...content(text, "text/html"),
        },
      },
      ...problems(400, 403, 408, 413, 414, 415, 422, 500, 503),
    },
  };
}

function schemasOf({ record, config }: Pick<Service, "record" | "config">): Record<string, Schema> {
  const columns = Object.entries(columnsOf(record));
  const valueOf = (kind: "number" | readonly string[]): Schema =>
    kind === "number" ? { type: ["number", "null"] } : { enum: [...kind, null] };
  const values = (wrap: (value: Schema) => Schema): Schema => ({
    ...{ type: "object", additionalProperties: false },
    properties: Object.fromEntries(columns.map(([name, kind]) => [name, wrap(valueOf(kind))])),
  });
  const state: Schema = { type: "object", description: "What `save` gave." };
  const typed = (
    type: string,
    properties: Record<string, Schema>,
    optional: Record<string, Schema> = {},
  ): Schema =>
    objectOf({ type: { const: type }, ...properties, ...optional }, ["type", ...Object.keys(properties)]);
  return {
    Problem: objectOf({
      type: text,
      title: text,
      status: { type: "integer", enum: problemStatuses },
      detail: text,
      ...problemFields,
    }, ["type", "title", "status", "detail", "code"]),
    SeriesTable: objectOf({
      series: listOf(objectOf({
        name: text,
        times: listOf(time),
        values: values((value) => ({ anyOf: [listOf(value), value] })),
      })),
    }),
    Answer: answerOf(config.task, record),
    RangeWarning: rangeWarning,
    Answers: objectOf({ answers: listOf(reference("Answer")), notices: listOf(text), ignored: listOf(text) }),
    Latest: objectOf({
      latest: listOf(objectOf({ at: { type: "string", format: "date-time" }, answer: reference("Answer") })),
    }),
    Health: objectOf({
      status: { enum: ["ok", "failing"] },
      run: text,
      task: text,
      streams: { type: "integer", minimum: 0 },
    }),
    ToServer: {
      oneOf: [
        objectOf({ type: { const: "observation" }, series: text, time, values: values((value) => value) }, [
          ...["series", "time", "values"],
        ]),
        typed("save", { series: text }),
        typed("restore", { series: text, state }),
        typed("drop", { series: text }),
      ],
    },
    FromServer: {
      oneOf: [
        typed("answer", {
          ...{ time, count: { type: "integer", minimum: 1 }, new: { type: "boolean" } },
          answer: reference("Answer"),
        }),
        typed("state", { series: text, state }),
        typed("restored", { series: text }),
        typed("dropped", { series: text, detail: text }, { state }),
        typed("error", { detail: text, code: text }, { series: text, ...problemFields }),
      ],
    },
  };
}

/** An input or a prediction far outside the training data. */
const rangeWarning: Schema = objectOf({
  code: { enum: rangeCodes },
  ...{ series: text, column: text, value: number, low: number, high: number },
  unit: { enum: ["seconds", "months"] },
}, ["code", "series", "value", "low", "high"]);

function answerOf(task: Service["config"]["task"], { classes, targets = [], channels }: DataRecord): Schema {
  /** An answer with these members, and its warnings if there are any. */
  const answer = (members: Readonly<Record<string, Schema>>) =>
    objectOf({ ...members, warnings: listOf(reference("RangeWarning")) }, Object.keys(members));
  const share: Schema = { type: "number", minimum: 0, maximum: 1 };
  const each = (names: readonly string[], schema: Schema) =>
    objectOf(Object.fromEntries(names.map((name) => [name, schema])));
  if (task === "regress") {
    return answer({ series: text, numbers: each(targets.map(({ name }) => name), number) });
  }
  if (task === "forecast") {
    const targetChannels = targetChannelsOf(channels).map((channel) => channels[channel].name);
    const forecast = objectOf({ mean: listOf(number), quantiles: mapOf(listOf(number)) });
    return answer({ series: text, times: listOf(time), channels: each(targetChannels, forecast) });
  }
  return answer({
    ...{ series: text, label: { type: "string", enum: classes }, probability: share },
    probabilities: each(classes, share),
  });
}
