/** WebSockets of clients that stream observations. */
import type { Charge, MemoryUse } from "../account.ts";
import type { Limits } from "../limits.ts";
import type { Client, Streams } from "./streams.ts";
import { type Turn, turnsOf } from "../http/turns.ts";

/** Reasons to close a WebSocket (RFC 6455, section 7.4.1). */
const closing = { goingAway: 1001, noText: 1003, tryAgainLater: 1013 } as const;

/** The server's end of a WebSocket. */
export type ServerSocket =
  & Pick<WebSocket, "readyState" | "bufferedAmount" | "close">
  & Pick<WebSocket, "onmessage" | "onclose" | "onerror">
  & {
    /** Sends a text. Calls a function when the text has left, or cannot leave. */
    send(text: string, done: () => void): void;
    /** Stops reading messages. */
    pause(): void;
    /** Continues to read messages. */
    resume(): void;
    /** Sends a ping to the client. */
    ping(): void;
    /** Registers a handler of the client's pongs. */
    on(event: "pong", taken: () => void): void;
    /** Closes the connection immediately. */
    terminate(): void;
  };

/** The connection of a WebSocket. */
export interface SocketConnection {
  /** Takes bytes of the account. @throws {RequestError} If the memory for clients is exhausted. */
  charge(use: MemoryUse, bytes: number): Charge;
  /** A complete message has arrived. */
  messageTaken(): void;
}

/** The open WebSockets of a server. */
export interface Sockets {
  /** Number of open WebSockets. */
  readonly count: number;
  /** Handles the messages of a socket from now on. */
  add(socket: ServerSocket, connection: SocketConnection): void;
  /** Answers the messages received so far, then starts closing all sockets. */
  close(): Promise<void>;
}

/** Bytes of the account for a message that waits for its answer, without its text. */
const messageBytes = 2 ** 8;

/** Whether a message is not an observation. Such messages have large answers: each waits for those before. */
const isRare = (text: string) => text.includes('"type"') && !text.includes('"values"');

/** Makes WebSockets that pass their messages to a service's streams. */
export function socketsOf(streams: Streams, limits: Limits): Sockets {
  const open = new Set<ServerSocket>();
  const answering = new Set<Promise<void>>();
  const turns = turnsOf();
  let isEnding = false;
  const add = (socket: ServerSocket, connection: SocketConnection) => {
    const waiting: { text: string; charge: Charge }[] = [];
    let [running, isPaused, isAlive] = [0, false, true];
    const charge = (bytes: number): Charge | undefined => {
      try {
        return connection.charge("answers", bytes);
      } catch {
        socket.close(closing.tryAgainLater, "the memory for clients is exhausted");
        return undefined;
      }
    };
    const client: Client = {
      send(message) {
        if (socket.readyState !== WebSocket.OPEN) return;
        const text = JSON.stringify(message);
        const taken = charge(text.length);
        if (!taken) return;
        socket.send(text, () => {
          taken[Symbol.dispose]();
          turns.ask(next);
        });
      },
    };
    /** Begins to answer the next message. */
    const next = (): Turn => {
      const isRead = socket.bufferedAmount <= limits.unreadBytes;
      const [first] = waiting;
      const canRun = first && isRead && (running === 0 || !isRare(first.text));
      if (canRun) {
        waiting.shift();
        running++;
        const answered = streams.take(first.text, client).finally(() => {
          first.charge[Symbol.dispose]();
          running--;
          answering.delete(answered);
          turns.ask(next);
        });
        answering.add(answered);
      }
      // Read no more messages while too many wait for their answers, or their answers are not read.
      const isFull = waiting.length + running >= limits.unanswered || !isRead;
      if (isFull !== isPaused) {
        isPaused = isFull;
        if (isFull) socket.pause();
        else socket.resume();
      }
      return { hasMore: canRun && waiting.length > 0, isLarge: canRun && isRare(first.text) };
    };
    const watch = setInterval(() => {
      if (!isAlive && running === 0) return socket.terminate();
      isAlive = false;
      socket.ping();
    }, 1000 * limits.idleSeconds);
    socket.on("pong", () => isAlive = true);
    open.add(socket);
    socket.onclose = () => {
      clearInterval(watch);
      open.delete(socket);
      for (const { charge } of waiting.splice(0)) charge[Symbol.dispose]();
    };
    // The close event follows and cleans up.
    socket.onerror = () => {};
    socket.onmessage = ({ data }) => {
      connection.messageTaken();
      isAlive = true;
      if (isEnding || socket.readyState !== WebSocket.OPEN) return;
      if (typeof data !== "string") return socket.close(closing.noText, "expected text");
      const taken = charge(messageBytes + 2 * data.length);
      if (!taken) return;
      waiting.push({ text: data, charge: taken });
      turns.ask(next);
    };
  };
  return {
    get count() {
      return open.size;
    },
    add,
    async close() {
      isEnding = true;
      await turns.idle();
      await Promise.all(answering);
      for (const socket of open) {
        if (socket.readyState === WebSocket.OPEN) socket.close(closing.goingAway, "the server ends");
      }
    },
  };
}
