/** The open connections of a server. */
import type { Account, Charge } from "../account.ts";
import { Connection, headPart } from "./connection.ts";
import type { Limits } from "../limits.ts";
import { handledUntil, makeSlices, pollSockets } from "./slices.ts";
import { turnsOf } from "./turns.ts";

/** Bytes of the account for a connection: its objects, its headers, and the bytes that are read ahead. */
const connectionBytes = 2 ** 15;

/** Milliseconds without progress after which a client's unread answers are dropped if memory is short. */
const stalledAfter = 1000;

/** Milliseconds that a connection is idle before another one replaces it: of one that has sent a request, and of one that has not. */
const leastIdle = { answered: 500, silent: 100 };

/**
 * Milliseconds of accepted connections before other work. Longer than other slices: all new clients wait behind those that open a
 * thousand connections at once.
 */
const acceptSlice = 8;

/** Number of connections that replace others before the file descriptors of those are released. */
const replacedAtOnce = 16;

/** Milliseconds between two attempts to accept a connection, between two logs, and until the attempts end. */
const [retryAfter, logAfter, giveUpAfter] = [20, 60_000, 10_000];

/** A connection that has sent nothing yet. */
type SilentConnection = Pick<Connection, "activeAt" | "abandon">;

/** The open connections of a server. */
export interface Connections {
  /** Number of open connections. */
  readonly count: number;
  /** Rejects if the server can no longer accept connections. */
  readonly failed: Promise<never>;
  /** Accepts no more connections, and closes idle ones. */
  stop(): void;
  /** Waits until all connections end. After `seconds`, closes the open ones. Returns their number. */
  end(seconds: number): Promise<number>;
}

/**
 * Accepts the connections of a listener. At the maximum, a new connection replaces the one that has been idle
 * for longest. If none is idle, it is closed immediately.
 */
export function connectionsOf(
  listener: Deno.TcpListener,
  account: Account,
  { connections, headerSeconds, stalledSeconds }: Limits,
  onConnection: (connection: Connection) => void,
  log: (error: unknown) => void,
): Connections {
  const open = new Set<Connection>();
  /** Connections that have sent nothing yet, oldest first. */
  const silent = new Set<SilentConnection>();
  const turns = turnsOf();
  const slices = makeSlices(acceptSlice);
  let isEnding = false;
  let onNone = () => {};
  const failed = Promise.withResolvers<never>();
  // The caller may not wait for a failure.
  failed.promise.catch(() => {});

  const count = () => open.size + silent.size;

  const add = (socket: Deno.TcpConn) => {
    if (isEnding || count() >= connections) return socket.close();
    using parts = new DisposableStack();
    parts.defer(() => socket.close());
    try {
      const charge = parts.use(account.take("connections", connectionBytes));
      parts.move();
      void begin(socket, charge);
    } catch {
      // The memory for connections is exhausted, or the client has disconnected.
    }
  };

  /** Makes a connection when its first bytes arrive. Until then it takes little time and memory. */
  const begin = async (socket: Deno.TcpConn, charge: Charge) => {
    const waiting: SilentConnection = {
      activeAt: performance.now(),
      abandon() {
        silent.delete(waiting);
        charge[Symbol.dispose]();
        socket.close();
        if (count() === 0) onNone();
      },
    };
    silent.add(waiting);
    const first = new Uint8Array(headPart);
    const length = await socket.read(first).catch(() => null);
    if (!silent.has(waiting)) return;
    if (length === null) return waiting.abandon();
    silent.delete(waiting);
    socket.setNoDelay();
    const connection = new Connection(socket, account, turns, charge, first.subarray(0, length));
    open.add(connection);
    connection.on("close", () => {
      open.delete(connection);
      if (count() === 0) onNone();
    });
    onConnection(connection);
  };

  /** Accepts connections until the listener is closed. */
  const accept = async () => {
    let [failingSince, loggedAt] = [Infinity, -Infinity];
    let replaced = 0;
    while (!isEnding) {
      const now = performance.now();
      try {
        const socket = await listener.accept();
        failingSince = Infinity;
        // Later clients wait to be accepted, as long as there are connections that may be replaced soon.
        for (const until = performance.now() + leastIdle.answered; count() >= connections && !isEnding;) {
          if (closeIdle()) replaced++;
          else if (!replaceable().some(Boolean) || performance.now() > until) break;
          else await pollSockets();
        }
        add(socket);
        // A connection that was closed keeps its file descriptor until the next turn.
        if (replaced >= replacedAtOnce || slices.isOver) {
          await slices.next();
          replaced = 0;
        }
      } catch (error) {
        if (isEnding) return;
        // For example, the process can open no more files.
        const text = `the server cannot accept connections, ${count()} are open: ${(error as Error).message}`;
        if (now - loggedAt > logAfter) {
          log(text);
          loggedAt = now;
        }
        failingSince = Math.min(failingSince, now);
        if (now - failingSince > giveUpAfter) return failed.reject(new Error(text));
        closeIdle();
        await turn(retryAfter);
      }
    }
  };
  const close = (connection: Connection | undefined): boolean => {
    if (!connection) return false;
    open.delete(connection);
    connection.abandon();
    return true;
  };
  /** The connections that may be replaced at some time: the oldest one without a request, and the one that is idle for longest. */
  const replaceable = (): [SilentConnection | undefined, Connection | undefined] => {
    const [first] = silent;
    return [first, oldest(open, ({ isIdle }) => isIdle)];
  };
  /** Closes a connection that is idle for long enough. Returns whether such a connection was open. */
  const closeIdle = (): boolean => {
    const [first, idle] = replaceable();
    const isIdle = (one: SilentConnection | undefined, least: number) =>
      one && handledUntil() - one.activeAt >= least;
    if (isIdle(first, leastIdle.silent)) first!.abandon();
    else if (!isIdle(idle, leastIdle.answered)) return false;
    else close(idle);
    return true;
  };
  const isStalled = (milliseconds: number) => ({ writableLength, activeAt }: Connection) =>
    writableLength > 0 && performance.now() - activeAt > milliseconds;
  account.onShort(() => close(oldest(open, isStalled(stalledAfter))));
  const watch = setInterval(() => {
    while (close(oldest(open, isStalled(1000 * stalledSeconds))));
    const now = performance.now();
    for (const connection of [...open]) connection.checkTimes(now);
    const late = now - 1000 * headerSeconds;
    for (const connection of silent) if (connection.activeAt < late) connection.abandon();
  }, 1000);
  Deno.unrefTimer(watch);
  void accept();
  return {
    get count() {
      return count();
    },
    failed: failed.promise,
    stop() {
      if (isEnding) return;
      isEnding = true;
      listener.close();
      for (const connection of silent) connection.abandon();
      for (const connection of [...open]) if (connection.isIdle) close(connection);
    },
    async end(seconds) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await new Promise<void>((resolve) => {
        onNone = resolve;
        if (count() === 0) resolve();
        timer = setTimeout(resolve, 1000 * seconds);
      });
      clearTimeout(timer);
      clearInterval(watch);
      const left = count();
      for (const connection of silent) connection.abandon();
      for (const connection of [...open]) close(connection);
      return left;
    },
  };
}

/** The connection with the earliest activity among some. */
function oldest(
  open: ReadonlySet<Connection>,
  isCandidate: (connection: Connection) => boolean,
): Connection | undefined {
  let idlest: Connection | undefined;
  for (const connection of open) {
    if (isCandidate(connection) && !(idlest && idlest.activeAt <= connection.activeAt)) idlest = connection;
  }
  return idlest;
}

function turn(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
