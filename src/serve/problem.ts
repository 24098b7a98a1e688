/** A fault of a request, as RFC 9457 asks: a status, its name, and a sentence. */
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

/** An error as the refusal that its client is told. Of what is no fault of the request, nothing is told but that. */
export function refusalOf(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  if (isAboutData(error)) {
    return new RequestError(422, forClients(error.message.replaceAll(/\s*\n\s*/g, " ")));
  }
  return new RequestError(500, "the server failed, and has written down why");
}

/** Whether an error tells of data: the system's and the language's own errors, which may name files, are others. */
function isAboutData(error: unknown): error is Error {
  return error instanceof Error &&
    ["Error", "RangeError", "ShapeError", "DataFormatError"].includes(error.name);
}

/** The answer that tells of a refusal. */
export function problem({ status, message, headers }: RequestError): Response {
  const body = JSON.stringify({ type: "about:blank", title: titles[status], status, detail: message });
  return new Response(`${body}\n`, {
    status,
    statusText: titles[status],
    headers: { ...headers, "content-type": problemType },
  });
}
