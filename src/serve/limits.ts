/** Limits of a server that is asked for no others: all that a client sends is bounded, so that nobody can fill its memory or hold it up. */
export const defaultLimits = {
  /** Connections at a time; more are closed at once. */
  connections: 4096,
  /** Seconds in which a request's headers must have come. */
  headerSeconds: 10,
  /** Bytes of a request's headers. */
  headerBytes: 2 ** 14,
  /** Seconds that a connection is kept without a request, and that a WebSocket has to show that it is alive. */
  idleSeconds: 30,
  /** Bytes of a request's body, compressed or not. */
  bodyBytes: 2 ** 23,
  /** Bytes of all bodies that are being received or answered. */
  bodiesBytes: 2 ** 26,
  /** Seconds in which a body must have come. */
  bodySeconds: 30,
  /** Seconds in which a client must have taken an answer. */
  answerSeconds: 600,
  /** Objects and arrays inside one another in JSON. */
  jsonDepth: 16,
  /** Characters of a request's address. */
  urlLength: 2048,
  /** Fields of a table, those counted that its rows leave out. */
  fields: 2 ** 24,
  /** Observations of one series. */
  observations: 10_000,
  /** Requests for predictions that are computed or wait for it. */
  predictions: 16,
  /** Seconds that a request's predictions may take. */
  predictionSeconds: 60,
  /** Series that are followed while their observations arrive. */
  streams: 10_000,
  /** Open WebSockets. */
  sockets: 2048,
  /** Bytes of a message. */
  messageBytes: 2 ** 17,
  /** Messages of a WebSocket that are not answered yet. */
  unanswered: 10_000,
  /** Bytes of answers that a client has not read yet. */
  unreadBytes: 2 ** 22,
};

/** Limits of a server. */
export type Limits = Readonly<Record<keyof typeof defaultLimits, number>>;
