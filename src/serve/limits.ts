import type { OptionNames } from "../device/options.ts";

/**
 * Default limits of a server. Every input of a client is bounded, so that no client can exhaust memory or
 * block the server.
 */
export const defaultLimits = {
  /** Maximum number of connections. Further connections are closed immediately. */
  connections: 4096,
  /** Timeout for a request's headers, in seconds. */
  headerSeconds: 10,
  /** Maximum size of a request's headers, in bytes. */
  headerBytes: 2 ** 14,
  /** Timeout of an idle connection, and for the pong of a WebSocket, in seconds. */
  idleSeconds: 30,
  /** Maximum size of a request's body, compressed and decompressed, in bytes. */
  bodyBytes: 2 ** 23,
  /** Maximum total size of all bodies that are being received or answered, in bytes. */
  bodiesBytes: 2 ** 26,
  /** Timeout for a request's body, in seconds. */
  bodySeconds: 30,
  /** Timeout for a client to read a response, in seconds. */
  answerSeconds: 600,
  /** Maximum nesting depth of objects and arrays in JSON. */
  jsonDepth: 16,
  /** Maximum length of a request's URL, in characters. */
  urlLength: 2048,
  /** Maximum number of fields of a table, including fields that are missing in its rows. */
  fields: 2 ** 24,
  /** Maximum number of observations per series. */
  observations: 10_000,
  /** Maximum number of prediction requests that run or wait. */
  predictions: 16,
  /** Timeout for the predictions of a request, in seconds. */
  predictionSeconds: 60,
  /** Maximum number of streamed series. */
  streams: 10_000,
  /** Maximum number of open WebSockets. */
  sockets: 2048,
  /** Maximum size of a WebSocket message, in bytes. */
  messageBytes: 2 ** 17,
  /** Maximum number of unanswered messages per WebSocket. */
  unanswered: 10_000,
  /** Maximum size of the unread answers of a client, in bytes. */
  unreadBytes: 2 ** 22,
};

/** Limits of a server. */
export type Limits = Readonly<Record<keyof typeof defaultLimits, number>>;

export const limitNames = Object.fromEntries(
  Object.keys(defaultLimits).map((name) => [name, "optional"]),
) as OptionNames<Partial<Limits>>;
