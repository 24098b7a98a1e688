/** A fault of a request, as RFC 9457 asks: a status, its name, and a sentence. */
import { DataError } from "../files/data_error.ts";
import { forClients } from "./notations.ts";

/** Names of the statuses that a server answers with. */
const titles = {
  400: "Bad Request",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Content Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  426: "Upgrade Required",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
} as const;

/** Status of a problem. */
export type ProblemStatus = keyof typeof titles;

/** Every status of a problem. */
export const problemStatuses: readonly ProblemStatus[] = Object.keys(titles).map((text) =>
  Number(text) as ProblemStatus
);

/** Media type of problems. */
export const problemType = "application/problem+json";

/** A request that is refused. */
export class RequestError extends Error {
  /** `"RequestError"`. */
  override name = "RequestError";

  /** A refusal. @param headers Headers of the answer. */
  constructor(
    /** Status of the answer. */
    readonly status: ProblemStatus,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** The refusal of what there is no room for at the moment. */
export function busy(message: string): RequestError {
  return new RequestError(503, message, { "retry-after": "1" });
}

/** The refusal of a request whose data or form are at fault; undefined for any other error, which is internal. */
export function refusalOf(error: unknown): RequestError | undefined {
  if (error instanceof RequestError) return error;
  if (!(error instanceof DataError)) return undefined;
  return new RequestError(422, forClients(error.message.replaceAll(/\s*\n\s*/g, " ")));
}

/** The answer to a request that an internal error has ended: the details, which may name files, are in the log alone. */
export const internalFailure: RequestError = new RequestError(
  500,
  "the server failed; the reason is in the log of the server",
);

/** The answer that tells of a refusal. */
export function problem({ status, message, headers }: RequestError): Response {
  const body = JSON.stringify({ type: "about:blank", title: titles[status], status, detail: message });
  return new Response(`${body}\n`, {
    status,
    statusText: titles[status],
    headers: { ...headers, "content-type": problemType },
  });
}
