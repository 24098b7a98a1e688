/**
 * HTTP server of a service. Uses the parser of Node's server, since Deno's server cannot close idle connections, and
 * Deno's listener, since Node's server ends silently when the process can open no more files.
 */
import { OptionError } from "../device/errors.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
// Not Deno.upgradeWebSocket: it never releases the sockets of Node's server, and it buffers messages of any
// length.
import { WebSocketServer } from "ws";
import { loopbackNames } from "./http/access.ts";
import { addressOf } from "./http/address.ts";
import { collectGarbage, memoryTrimmer } from "./predictions/collect.ts";
import type { Connection } from "./http/connection.ts";
import { connectionsOf } from "./http/connections.ts";
import type { Limits } from "./limits.ts";
import { problem, refusalOf, RequestError } from "./http/problem.ts";
import { type Handler, handlerOf, requireSocket } from "./routes.ts";
import type { Service } from "./service.ts";
import type { ServerSocket } from "./streams/sockets.ts";

/** A running server. */
export interface RunningServer {
  /** URL of the server, such as `"http://127.0.0.1:8000"`. */
  readonly url: string;
  /** Rejects if the server can no longer accept connections. */
  readonly failed: Promise<never>;
  /**
   * Stops accepting requests, completes running requests, and closes all connections.
   *
   * @param seconds Time for the requests, 10 by default. Then the remaining connections are closed.
   * @returns Whether all requests were completed.
   */
  shutdown(seconds?: number): Promise<boolean>;
}

const addressNames = namesOf<{ host: string; port: number }>()("host port");

/** Whether an address can only be reached from this machine. */
export function isLoopback(host: string): boolean {
  return loopbackNames.includes(host) || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Starts a server on an address.
 *
 * @param port Port; 0 for any free port.
 * @throws {Error} If the server cannot listen on the address.
 */
export async function startServer(
  service: Service,
  address: { host: string; port: number },
): Promise<RunningServer> {
  checkOptions("startServer", address, addressNames);
  const { limits, log } = service;
  const server = createServer(optionsOf(limits));
  const handler = handlerOf(service);
  const handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: limits.messageBytes,
  });
  handshakes.on(
    "wsClientError",
    (error: Error, connection: Connection) => void refuse(connection, refusalOfHandshake(error)),
  );
  server.on("request", (message, response) => {
    const connection = message.socket as unknown as Connection;
    connection.answer(message, () => void serve(handler, message, response, connection, limits));
  });
  server.on("upgrade", (message, socket, head) => {
    const connection = socket as unknown as Connection;
    try {
      requireSocket(requestOf(message), service);
    } catch (error) {
      return void refuse(connection, refusalOfHandshake(error));
    }
    connection.openTunnel(() =>
      handshakes.handleUpgrade(
        message,
        connection,
        head,
        (socket: ServerSocket) => service.sockets.add(socket, connection),
      )
    );
  });
  await warmUp(service);
  const listener = listen(address);
  let isEnding = false;
  // The connections come from the listener. Without these two lines, Node's server takes itself for closed: it
  // checks no timeouts, and closes connections after each answer.
  Object.defineProperty(server, "listening", { get: () => !isEnding });
  server.emit("listening");
  const connections = connectionsOf(
    listener,
    service.account,
    limits,
    (connection) => server.emit("connection", connection),
    log,
  );
  collectGarbage("idle");
  const trimMemory = memoryTrimmer();
  let busyTicks = 0;
  const collecting = setInterval(() => {
    const isIdle = connections.count === 0;
    busyTicks = isIdle ? 0 : busyTicks + 1;
    if (isIdle) collectGarbage("idle");
    if (busyTicks % ticksPerTrim === 0) trimMemory(isIdle ? "idle" : "busy");
  }, 1000 * collectSeconds);
  Deno.unrefTimer(collecting);
  const { host } = address;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${listener.addr.port}`,
    failed: connections.failed,
    async shutdown(seconds = 10) {
      isEnding = true;
      clearInterval(collecting);
      const end = performance.now() + 1000 * seconds;
      server.close();
      connections.stop();
      const ended = connections.end(seconds);
      await Promise.race([ended, Promise.all([service.predictions.idle(), service.sockets.close()])]);
      // Clients have some time to read their responses.
      const left = Math.min(readSeconds, (end - performance.now()) / 1000);
      return await connections.end(Math.max(left, 0)) === 0 && await ended === 0;
    },
  };
}

/**
 * Streams three observations before the first request. The first predictions of a series are slow, since they
 * compile kernels.
 */
async function warmUp({ model, record, onFailure }: Service): Promise<void> {
  try {
    const stream = model.stream?.("warm-up");
    for (const time of [0, 1, 2]) await stream?.push(time, record.channels.map(({ mean }) => mean));
  } catch (error) {
    // Ignore errors of the data: the prediction may fail for the channel means and still work for clients.
    if (!refusalOf(error)) onFailure(error);
  }
}

/** Seconds that clients have to read their responses at shutdown, and between collections of garbage. */
const [readSeconds, collectSeconds] = [2, 10];

/** Number of collections between two trims of a busy server: a minute. */
const ticksPerTrim = 6;

function refusalOfHandshake(error: unknown): RequestError {
  return error instanceof RequestError ? error : new RequestError(400, "not a WebSocket handshake");
}

/** Responds to a rejected handshake. */
async function refuse(connection: Connection, refusal: RequestError): Promise<void> {
  const answer = problem(refusal);
  const body = await answer.bytes();
  const headers = [...answer.headers, ["content-length", body.length], ["connection", "close"]]
    .map(([name, value]) => `${name}: ${value}\r\n`);
  connection.write(`HTTP/1.1 ${answer.status} ${answer.statusText}\r\n${headers.join("")}\r\n`);
  connection.end(body, () => connection.destroy());
}

function optionsOf({ headerSeconds, headerBytes, bodySeconds, idleSeconds }: Limits) {
  return {
    maxHeaderSize: headerBytes,
    headersTimeout: 1000 * headerSeconds,
    // Longer than the handler's timeout for a body, so that late clients first get an error response.
    requestTimeout: 1000 * (headerSeconds + 2 * bodySeconds),
    keepAliveTimeout: 1000 * idleSeconds,
    connectionsCheckingInterval: 1000,
    // Ignore offers of an upgrade to HTTP/2, which Java clients send.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
  };
}

/**
 * Maximum number of connections that wait to be accepted, if the system allows it. The system drops further ones, whose
 * clients try again after a second. Many connections can arrive at once.
 */
const mostWaiting = 4096;

/** Opens the port. @throws {OptionError} */
function listen({ host, port }: { host: string; port: number }): Deno.TcpListener {
  try {
    return Deno.listen({ hostname: host, port, tcpBacklog: mostWaiting });
  } catch (error) {
    throw new OptionError("invalid-option", `${host}:${port}: ${(error as Error).message}`, {
      option: "port",
      fixes: [(write) => `choose another ${write("port")}`],
    });
  }
}

async function serve(
  handler: Handler,
  message: IncomingMessage,
  response: ServerResponse,
  connection: Connection,
  { answerSeconds }: Limits,
): Promise<void> {
  const gone = new AbortController();
  connection.onGone = () => gone.abort();
  const charges = new DisposableStack();
  response.on("close", () => {
    // An error for a client that has its answer would take longer than many answers.
    if (!response.writableFinished) gone.abort();
    charges.dispose();
    connection.answered();
  });
  message.on("error", () => {});
  response.on("error", () => {});
  let answer = await answerTo(handler, message, gone.signal);
  let body = await answer.bytes();
  try {
    if (body.length > smallAnswer) charges.use(connection.charge("answers", body.length));
  } catch (error) {
    answer = problem(error as RequestError);
    body = await answer.bytes();
  }
  if (connection.destroyed) return;
  const headers: Record<string, string | number> = {
    ...Object.fromEntries(answer.headers),
    "content-length": body.length,
    "x-content-type-options": "nosniff",
    // Close the connection instead of waiting for the rest of a rejected body.
    ...(message.complete ? {} : { connection: "close" }),
  };
  connection.limitAnswer(1000 * answerSeconds);
  response.writeHead(answer.status, headers);
  response.end(message.method === "HEAD" ? undefined : body, () => {
    if (!message.complete) connection.destroy();
  });
}

/** Size of an answer that is part of the memory of its connection, in bytes. */
const smallAnswer = 2 ** 12;

async function answerTo(handler: Handler, message: IncomingMessage, signal: AbortSignal): Promise<Response> {
  let request: Request;
  try {
    request = requestOf(message, signal);
  } catch (error) {
    const malformed = "malformed request: its address or its method is invalid";
    return problem(error instanceof RequestError ? error : new RequestError(400, malformed));
  }
  return await handler(request);
}

/**
 * Converts a Node message to a request.
 *
 * @throws {RequestError} If the address or the host is invalid.
 * @throws {TypeError} If the method is invalid.
 */
function requestOf(message: IncomingMessage, signal?: AbortSignal): Request {
  const { method = "GET", headersDistinct } = message;
  const headers = new Headers();
  for (const [name, values] of Object.entries(headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(addressOf(message), {
    ...{ method, headers, signal },
    // Ignoring the rest of a rejected body must not close the connection before the response.
    ...(hasBody
      ? { body: ReadableStream.from(message.iterator({ destroyOnReturn: false })), duplex: "half" }
      : {}),
  } as RequestInit);
}
