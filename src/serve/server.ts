/** A service on an address. Deno's own server cannot end connections that idle, Node's can. */
import { addressNames } from "./option_names.ts";
import { checkOptions } from "../device/options.ts";
import type { Duplex } from "node:stream";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
// Deno.upgradeWebSocket keeps the sockets of Node's server for ever, and a message of any length before it tells of it.
import { WebSocketServer } from "ws";
import { connectionsOf } from "./connections.ts";
import type { Limits } from "./limits.ts";
import { problem, refusalOf, RequestError } from "./problem.ts";
import { type Handler, handlerOf, requireSocket } from "./routes.ts";
import type { Service } from "./service.ts";

/** A server that runs. */
export interface RunningServer {
  /** Address under which it answers, such as `"http://127.0.0.1:8000"`. */
  readonly url: string;
  /** Takes no more requests, ends what it is at, and closes all connections. */
  shutdown(): Promise<void>;
}

/** Names of this machine for itself. */
export const loopbackNames: readonly string[] = ["127.0.0.1", "localhost", "[::1]"];

/** Whether an address is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  return loopbackNames.includes(host) || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Serves on an address.
 *
 * @param port 0 for any that is free.
 * @throws {Error} If the address cannot be had.
 */
export async function startServer(
  service: Service,
  address: { host: string; port: number },
): Promise<RunningServer> {
  checkOptions("startServer", address, addressNames);
  const { host, port } = address;
  const server = createServer(optionsOf(service.limits));
  const connections = connectionsOf(server, service.limits.connections);
  const handler = handlerOf(service);
  const handshakes = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: service.limits.messageBytes,
  });
  handshakes.on(
    "wsClientError",
    (error: Error, socket: Duplex) => void refuse(socket, refusalOfHandshake(error)),
  );
  server.on("request", (message, response) => void serve(handler, message, response, service.limits));
  server.on("upgrade", (message, socket, head) => {
    socket.on("error", () => {});
    try {
      requireSocket(requestOf(message), service);
    } catch (error) {
      return void refuse(socket, refusalOfHandshake(error));
    }
    handshakes.handleUpgrade(message, socket, head, service.sockets.add);
  });
  await warmUp(service);
  const own = await listen(server, host, port);
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${own}`,
    async shutdown() {
      server.close();
      server.closeIdleConnections();
      await Promise.all([service.predictions.idle(), service.sockets.close()]);
      await connections.end(graceSeconds);
    },
  };
}

/** Follows a series of two observations: the first of each kind takes longer than those after it, as its kernels are made. */
async function warmUp({ model, record, onFailure }: Service): Promise<void> {
  try {
    const stream = model.stream?.("warm-up");
    for (const time of [0, 1]) await stream?.push(time, record.channels.map(({ mean }) => mean));
  } catch (error) {
    // A model that has no prediction for means can have some for the observations of clients.
    if (!refusalOf(error)) onFailure(error);
  }
}

/** Seconds that clients have to take their answers when a server ends. */
const graceSeconds = 2;

function refusalOfHandshake(error: unknown): RequestError {
  return error instanceof RequestError ? error : new RequestError(400, "no handshake of a WebSocket");
}

/** Answers a refused handshake. */
async function refuse(socket: Duplex, refusal: RequestError): Promise<void> {
  const answer = problem(refusal);
  const body = await answer.bytes();
  const headers = [...answer.headers, ["content-length", body.length], ["connection", "close"]]
    .map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${answer.status} ${answer.statusText}\r\n${headers.join("")}\r\n`);
  socket.end(body, () => socket.destroy());
}

function optionsOf({ headerSeconds, headerBytes, bodySeconds, idleSeconds }: Limits) {
  return {
    maxHeaderSize: headerBytes,
    headersTimeout: 1000 * headerSeconds,
    // The handler refuses a late body in words; this ends what is late even so.
    requestTimeout: 1000 * (headerSeconds + 2 * bodySeconds),
    keepAliveTimeout: 1000 * idleSeconds,
    connectionsCheckingInterval: 1000,
    // Clients in Java ask for HTTP/2 beside what they want: they are answered without.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
  };
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once(
      "error",
      (error) => reject(new Error(`${host}:${port}: ${error.message}; choose another --port`)),
    );
    server.listen(port, host, resolve);
  });
  return (server.address() as { port: number }).port;
}

async function serve(
  handler: Handler,
  message: IncomingMessage,
  response: ServerResponse,
  { answerSeconds }: Limits,
): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  message.on("error", () => {});
  response.on("error", () => {});
  const answer = await answerTo(handler, message, gone.signal);
  const body = new Uint8Array(await answer.arrayBuffer());
  if (gone.signal.aborted) return;
  const headers: Record<string, string | number> = {
    ...Object.fromEntries(answer.headers),
    "content-length": body.length,
    "x-content-type-options": "nosniff",
    // The rest of a refused body is not waited for.
    ...(message.complete ? {} : { connection: "close" }),
  };
  const late = setTimeout(() => message.socket.destroy(), 1000 * answerSeconds);
  // An answer that waits behind another, on a connection that ends, is never told so: its time does not keep the process.
  Deno.unrefTimer(late);
  response.on("close", () => clearTimeout(late));
  response.writeHead(answer.status, headers);
  response.end(message.method === "HEAD" ? undefined : body, () => {
    if (!message.complete) message.socket.destroy();
  });
}

async function answerTo(handler: Handler, message: IncomingMessage, signal: AbortSignal): Promise<Response> {
  let request: Request;
  try {
    request = requestOf(message, signal);
  } catch {
    return problem(new RequestError(400, "a request that is none: its address or its method cannot be"));
  }
  return await handler(request);
}

/** A message as a request. @throws {TypeError} If its address or its method cannot be. */
function requestOf(message: IncomingMessage, signal?: AbortSignal): Request {
  const { method = "GET", url = "/", headers, headersDistinct } = message;
  const own = new Headers();
  for (const [name, values] of Object.entries(headersDistinct)) {
    for (const value of values ?? []) own.append(name, value);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(`http://${headers.host ?? "localhost"}${url}`, {
    ...{ method, headers: own, signal },
    // The rest of a body that is refused must not end the connection before the answer.
    ...(hasBody
      ? { body: ReadableStream.from(message.iterator({ destroyOnReturn: false })), duplex: "half" }
      : {}),
  } as RequestInit);
}
