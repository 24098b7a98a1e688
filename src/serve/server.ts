/** HTTP server of a service. Uses Node's server, since Deno's server cannot close idle connections. */
import { OptionError } from "../device/errors.ts";
import { checkOptions, type OptionNames } from "../device/options.ts";
import type { Duplex } from "node:stream";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
// Not Deno.upgradeWebSocket: it never releases the sockets of Node's server, and it buffers messages of any
// length.
import { WebSocketServer } from "ws";
import { loopbackNames } from "./access.ts";
import { connectionsOf } from "./connections.ts";
import type { Limits } from "./limits.ts";
import { problem, refusalOf, RequestError } from "./problem.ts";
import { type Handler, handlerOf, requireSocket } from "./routes.ts";
import type { Service } from "./service.ts";

/** A running server. */
export interface RunningServer {
  /** URL of the server, such as `"http://127.0.0.1:8000"`. */
  readonly url: string;
  /** Stops accepting requests, completes running requests, and closes all connections. */
  shutdown(): Promise<void>;
}

const addressNames: OptionNames<{ host: string; port: number }> = {
  host: "required",
  port: "required",
};

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
  const boundPort = await listen(server, host, port);
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${boundPort}`,
    async shutdown() {
      server.close();
      server.closeIdleConnections();
      await Promise.all([service.predictions.idle(), service.sockets.close()]);
      await connections.end(graceSeconds);
    },
  };
}

/**
 * Streams two observations before the first request. The first prediction of each kind is slow, since it
 * compiles kernels.
 */
async function warmUp({ model, record, onFailure }: Service): Promise<void> {
  try {
    const stream = model.stream?.("warm-up");
    for (const time of [0, 1]) await stream?.push(time, record.channels.map(({ mean }) => mean));
  } catch (error) {
    // Ignore errors of the data: the prediction may fail for the channel means and still work for clients.
    if (!refusalOf(error)) onFailure(error);
  }
}

/** Seconds that clients have to read their responses at shutdown. */
const graceSeconds = 2;

function refusalOfHandshake(error: unknown): RequestError {
  return error instanceof RequestError ? error : new RequestError(400, "not a WebSocket handshake");
}

/** Responds to a rejected handshake. */
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
    // Longer than the handler's timeout for a body, so that late clients first get an error response.
    requestTimeout: 1000 * (headerSeconds + 2 * bodySeconds),
    keepAliveTimeout: 1000 * idleSeconds,
    connectionsCheckingInterval: 1000,
    // Ignore offers of an upgrade to HTTP/2, which Java clients send.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
  };
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once(
      "error",
      (error) =>
        reject(
          new OptionError("invalid-option", `${host}:${port}: ${error.message}`, {
            option: "port",
            fixes: [(write) => `choose another ${write("port")}`],
          }),
        ),
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
    // Close the connection instead of waiting for the rest of a rejected body.
    ...(message.complete ? {} : { connection: "close" }),
  };
  const late = setTimeout(() => message.socket.destroy(), 1000 * answerSeconds);
  // A response that is queued behind another one never emits "close" when the connection ends. Do not let its
  // timer keep the process alive.
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
    return problem(new RequestError(400, "malformed request: its address or its method is invalid"));
  }
  return await handler(request);
}

/** Converts a Node message to a request. @throws {TypeError} If the address or the method is invalid. */
function requestOf(message: IncomingMessage, signal?: AbortSignal): Request {
  const { method = "GET", url = "/", headers, headersDistinct } = message;
  const requestHeaders = new Headers();
  for (const [name, values] of Object.entries(headersDistinct)) {
    for (const value of values ?? []) requestHeaders.append(name, value);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(`http://${headers.host ?? "localhost"}${url}`, {
    ...{ method, headers: requestHeaders, signal },
    // Ignoring the rest of a rejected body must not close the connection before the response.
    ...(hasBody
      ? { body: ReadableStream.from(message.iterator({ destroyOnReturn: false })), duplex: "half" }
      : {}),
  } as RequestInit);
}
