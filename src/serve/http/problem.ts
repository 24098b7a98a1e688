/** Errors of requests as RFC 9457 problem details: a status, its title, a sentence, a code and fields. */
import { DataError, type ErrorFields } from "../../device/errors.ts";
import { parameterOf } from "./notations.ts";

/** Titles of the error statuses. */
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

/** Status of an error. */
export type ProblemStatus = keyof typeof titles;

/** All error statuses. */
export const problemStatuses: readonly ProblemStatus[] = Object.keys(titles).map((text) =>
  Number(text) as ProblemStatus
);

/** Media type of problem details. */
export const problemType = "application/problem+json";

/** Members of problem details, in addition to the members of RFC 9457. */
export interface ProblemFields extends ErrorFields {
  /** Code of the error. */
  readonly code: string;
  /** Ways to correct the error. */
  readonly fix?: string;
  /** Position in a JSON body, as in RFC 6901. */
  readonly pointer?: string;
}

/** A rejected request. */
export class RequestError extends Error {
  /** `"RequestError"`. */
  override name = "RequestError";
  /** Fields for programs. The code of errors without another code is the title of the status. */
  readonly fields: ProblemFields;

  /** Makes an error for a rejected request. @param headers Headers of the response. */
  constructor(
    /** Status of the response. */
    readonly status: ProblemStatus,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
    fields: Partial<ProblemFields> = {},
  ) {
    super(message);
    this.fields = { code: titles[status].toLowerCase().replaceAll(" ", "-"), ...fields };
  }
}

/** Error for a request that exceeds the current capacity. */
export function busy(message: string): RequestError {
  return new RequestError(503, message, { "retry-after": "1" });
}

/**
 * Converts an error about the data or the form of a request. Returns undefined for any other error, which is
 * internal.
 */
export function refusalOf(error: unknown): RequestError | undefined {
  if (error instanceof RequestError) return error;
  if (!(error instanceof DataError)) return undefined;
  const { code, option, row, column, expected } = error;
  const { message, fix } = error.writtenWith((name) =>
    parameterOf(name) === undefined ? undefined : `the parameter ${name}`
  );
  return new RequestError(422, message, {}, {
    ...{ code, option: parameterOf(option), row, column, expected, fix },
  });
}

/** Response to an internal error. The details may contain file names, so they are only logged. */
export const internalFailure: RequestError = new RequestError(
  500,
  "the server failed; the server's log has the reason",
);

/** Response for a rejected request. */
export function problem({ status, message, headers, fields }: RequestError): Response {
  const body = JSON.stringify({
    ...{ type: "about:blank", title: titles[status], status, detail: message },
    ...fields,
  });
  return new Response(`${body}\n`, {
    status,
    statusText: titles[status],
    headers: { ...headers, "content-type": problemType },
  });
}
