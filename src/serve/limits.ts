import { checkOptions, type OptionNames } from "../device/options.ts";
import { shares } from "./account.ts";

/**
 * Default limits of a server. Every input of a client is bounded, and the memory of all clients together is
 * `memory`, so that no client can exhaust memory or block the server.
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
  /** Maximum size of a request whose predictions may overtake those of larger requests, in bytes. */
  smallBodyBytes: 2 ** 16,
  /** Timeout for a request's body, in seconds. */
  bodySeconds: 30,
  /** Timeout for a client to read a response, in seconds. */
  answerSeconds: 600,
  /** Timeout for a client that has an unread response and reads nothing, in seconds. */
  stalledSeconds: 30,
  /** Maximum nesting depth of objects and arrays in JSON. */
  jsonDepth: 16,
  /** Maximum length of a request's URL, in characters. */
  urlLength: 2048,
  /** Memory for everything that clients cause, in bytes. */
  memory: 2 ** 30,
  /**
   * Maximum number of fields of a table, including fields that are missing in its rows. Less if the memory for
   * tables is short.
   */
  fields: 2 ** 23,
  /** Maximum number of series of a table. Less if the memory for tables is short. */
  series: 2 ** 17,
  /** Maximum size of an answer, in bytes. Less if the memory for tables is short. */
  answerBytes: 2 ** 27,
  /** Maximum length of the name of a series, in characters. */
  nameLength: 256,
  /** Maximum number of observations per series. */
  observations: 10_000,
  /** Maximum number of prediction requests that run or wait: of small requests, and of others. */
  predictions: 16,
  /** Timeout for the predictions of a request, in seconds. */
  predictionSeconds: 60,
  /** Maximum number of streamed series. */
  streams: 10_000,
  /** Maximum number of open WebSockets. */
  sockets: 2048,
  /** Maximum size of a WebSocket message, in bytes. */
  messageBytes: 2 ** 17,
  /** Number of unanswered messages of a WebSocket above which no more messages are read. */
  unanswered: 64,
  /** Size of the unread answers of a WebSocket above which no more messages are read, in bytes. */
  unreadBytes: 2 ** 18,
};

/** Limits of a server. */
export type Limits = Readonly<Record<keyof typeof defaultLimits, number>>;

export const limitNames = Object.fromEntries(
  Object.keys(defaultLimits).map((name) => [name, "optional"]),
) as OptionNames<Partial<Limits>>;

/** Bytes of memory for a field, and for a series, of a table that is read. */
const [fieldBytes, seriesBytes] = [32, 2048];

/** Limits with defaults, and with limits of tables that fit into their share of the memory. */
export function limitsOf(chosen: Partial<Limits> = {}): Limits {
  checkOptions("limitsOf", chosen, limitNames);
  const limits = { ...defaultLimits, ...chosen };
  const memory = shares.predictions * limits.memory;
  return {
    ...limits,
    fields: Math.min(limits.fields, Math.floor(memory / fieldBytes)),
    series: Math.min(limits.series, Math.floor(memory / seriesBytes)),
    answerBytes: Math.min(limits.answerBytes, Math.floor(memory / 2)),
  };
}
