/** Limits of a server: all that a client sends is bounded, so that nobody can fill its memory or hold it up. */
export interface Limits {
  /** Connections at a time; more are closed at once. */
  readonly connections: number;
  /** Seconds in which a request's headers must have come. */
  readonly headerSeconds: number;
  /** Bytes of a request's headers. */
  readonly headerBytes: number;
  /** Seconds that a connection is kept without a request, and that a WebSocket has to show that it is alive. */
  readonly idleSeconds: number;
  /** Bytes of a request's body, compressed or not. */
  readonly bodyBytes: number;
  /** Bytes of all bodies that are being received or answered. */
  readonly bodiesBytes: number;
  /** Seconds in which a body must have come. */
  readonly bodySeconds: number;
  /** Objects and arrays inside one another in JSON. */
  readonly jsonDepth: number;
  /** Characters of a request's address. */
  readonly urlLength: number;
  /** Observations of one series. */
  readonly observations: number;
  /** Requests for predictions that are computed or wait for it. */
  readonly predictions: number;
  /** Seconds that a request's predictions may take. */
  readonly predictionSeconds: number;
  /** Series that are followed while their observations arrive. */
  readonly streams: number;
  /** Open WebSockets. */
  readonly sockets: number;
  /** Bytes of a message. */
  readonly messageBytes: number;
  /** Messages of a WebSocket that are not answered yet. */
  readonly unanswered: number;
  /** Bytes of answers that a client has not read yet. */
  readonly unreadBytes: number;
}

/** The limits of a server that is asked for no others. */
export const defaultLimits: Limits = {
  connections: 4096,
  headerSeconds: 10,
  headerBytes: 2 ** 14,
  idleSeconds: 30,
  bodyBytes: 2 ** 23,
  bodiesBytes: 2 ** 26,
  bodySeconds: 30,
  jsonDepth: 16,
  urlLength: 2048,
  observations: 10_000,
  predictions: 16,
  predictionSeconds: 60,
  streams: 10_000,
  sockets: 2048,
  messageBytes: 2 ** 17,
  unanswered: 10_000,
  unreadBytes: 2 ** 22,
};
