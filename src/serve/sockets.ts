/** WebSockets of clients that stream observations. */
import type { Limits } from "./limits.ts";
import type { Client, Streams } from "./streams.ts";

/** Reasons to close a WebSocket (RFC 6455, section 7.4.1). */
const closing = { goingAway: 1001, noText: 1003, tryAgainLater: 1013 } as const;

/** The server's end of a WebSocket. */
export type ServerSocket =
  & Pick<WebSocket, "readyState" | "bufferedAmount" | "send" | "close">
  & Pick<WebSocket, "onmessage" | "onclose" | "onerror">
  & {
    /** Sends a ping to the client. */
    ping(): void;
    /** Registers a handler of the client's pongs. */
    on(event: "pong", taken: () => void): void;
    /** Closes the connection immediately. */
    terminate(): void;
  };

/** The open WebSockets of a server. */
export interface Sockets {
  /** Number of open WebSockets. */
  readonly count: number;
  /** Handles the messages of a socket from now on. */
  add(socket: ServerSocket): void;
  /** Answers the messages received so far, then starts closing all sockets. */
  close(): Promise<void>;
}

/** Makes WebSockets that pass their messages to a service's streams. */
export function socketsOf(streams: Streams, limits: Limits): Sockets {
  const open = new Set<ServerSocket>();
  const answering = new Set<Promise<void>>();
  let isEnding = false;
  const add = (socket: ServerSocket) => {
    let unanswered = 0;
    const client: Client = {
      send(message) {
        if (socket.readyState !== WebSocket.OPEN) return;
        if (socket.bufferedAmount > limits.unreadBytes) {
          return socket.close(closing.tryAgainLater, "answers are not read");
        }
        socket.send(JSON.stringify(message));
      },
    };
    let isAlive = true;
    const watch = setInterval(() => {
      if (!isAlive) return socket.terminate();
      isAlive = false;
      socket.ping();
    }, 1000 * limits.idleSeconds);
    socket.on("pong", () => isAlive = true);
    open.add(socket);
    socket.onclose = () => {
      clearInterval(watch);
      open.delete(socket);
    };
    // The close event follows and cleans up.
    socket.onerror = () => {};
    socket.onmessage = ({ data }) => {
      if (isEnding || socket.readyState !== WebSocket.OPEN) return;
      if (typeof data !== "string") return socket.close(closing.noText, "expected text");
      if (unanswered >= limits.unanswered) {
        return socket.close(closing.tryAgainLater, "too many unanswered messages");
      }
      unanswered++;
      const answered = streams.take(data, client).finally(() => {
        unanswered--;
        answering.delete(answered);
      });
      answering.add(answered);
    };
  };
  return {
    get count() {
      return open.size;
    },
    add,
    async close() {
      isEnding = true;
      await Promise.all(answering);
      for (const socket of open) {
        if (socket.readyState === WebSocket.OPEN) socket.close(closing.goingAway, "the server ends");
      }
    },
  };
}
