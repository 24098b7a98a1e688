/** Routes of requests to their handlers. */
import { requireAccess } from "./http/access.ts";
import { htmlHeaders, latestPart, wantsHtml } from "./pages/answer_parts.ts";
import { metricsType } from "./pages/metrics.ts";
import { openApiOf } from "./pages/openapi.ts";
import { pageOf } from "./pages/page.ts";
import { predict } from "./predictions/predict.ts";
import { busy, internalFailure, problem, refusalOf, RequestError } from "./http/problem.ts";
import type { Service } from "./service.ts";

/** Handles a request. */
export type Handler = (request: Request) => Promise<Response>;

type Route = (request: Request, service: Service) => Response | Promise<Response>;

/** Handlers by path and method. */
const routes: Readonly<Record<string, Readonly<Record<string, Route>>>> = {
  "/predict": { POST: predict },
  "/stream": {
    GET: (_, service) => {
      requireStreams(service);
      throw new RequestError(426, "a WebSocket is expected here", { upgrade: "websocket" });
    },
  },
  "/latest": {
    GET: (request, { latest }) =>
      wantsHtml(request)
        ? new Response(latestPart(latest), { headers: htmlHeaders })
        : Response.json({ latest }),
  },
  "/openapi.json": {
    GET: (_, service) =>
      new Response(descriptionOf(service), { headers: { "content-type": "application/json" } }),
  },
  "/": { GET: (_, service) => pageOf(service) },
  "/health": {
    GET: (_, { name, config, streams, health: { isFailing } }) =>
      Response.json(
        {
          status: isFailing ? "failing" : "ok",
          run: name,
          task: config.task ?? "classify",
          streams: streams.count,
        },
        { status: isFailing ? 503 : 200 },
      ),
  },
  "/metrics": {
    GET: (_, { metrics: { gauges, ...others } }) =>
      new Response([...Object.values(others), ...gauges].map((metric) => metric.text()).join(""), {
        headers: { "content-type": metricsType },
      }),
  },
};

/** Descriptions of services, in JSON. They do not change. */
const descriptions = new WeakMap<Service, Uint8Array<ArrayBuffer>>();

function descriptionOf(service: Service): Uint8Array<ArrayBuffer> {
  const description = descriptions.get(service) ??
    new TextEncoder().encode(JSON.stringify(openApiOf(service)));
  descriptions.set(service, description);
  return description;
}

/** Handler of all requests to a service. It never throws: every error becomes a response. */
export function handlerOf(service: Service): Handler {
  return async (request) => {
    const start = performance.now();
    let path = "other";
    let response: Response;
    try {
      const url = addressOf(request, service);
      const methods = Object.hasOwn(routes, url.pathname) ? routes[url.pathname] : undefined;
      if (!methods) {
        throw new RequestError(404, `no such route; expected ${Object.keys(routes).join(", ")}`);
      }
      path = url.pathname;
      response = await routeOf(methods, request.method, path)(request, service);
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) service.onFailure(error);
      response = problem(refusal ?? internalFailure);
    }
    service.metrics.requests.add({ route: path, status: response.status });
    service.metrics.seconds.observe((performance.now() - start) / 1000, { route: path });
    return response;
  };
}

/** Rejects an invalid request for a WebSocket. @throws {RequestError} */
export function requireSocket(request: Request, service: Service): void {
  const { pathname } = addressOf(request, service);
  if (pathname !== "/stream") throw new RequestError(404, "WebSockets are at /stream");
  requireStreams(service);
  if (service.sockets.count >= service.limits.sockets) {
    throw busy("too many WebSockets are open: try again later");
  }
}

function requireStreams({ model, config }: Pick<Service, "model" | "config">): void {
  if (model.stream) return;
  throw new RequestError(
    501,
    `this model has no streams: ${
      config.online
        ? `${config.model}${config.method ? ` with the method ${config.method}` : ""} reads only whole series`
        : "it was not trained online"
    }; POST /predict takes whole series`,
  );
}

function routeOf(methods: Readonly<Record<string, Route>>, method: string, path: string): Route {
  const routeMethod = method === "HEAD" ? "GET" : method;
  if (Object.hasOwn(methods, routeMethod)) return methods[routeMethod];
  const allow = Object.keys(methods).join(", ");
  throw new RequestError(405, `${path} takes ${allow}`, { allow });
}

/** URL of a request, if the host and the origin of the request are allowed. */
function addressOf(request: Request, { access, limits }: Pick<Service, "access" | "limits">): URL {
  if (request.url.length > limits.urlLength) {
    throw new RequestError(414, `an address of more than ${limits.urlLength} characters`);
  }
  const url = URL.parse(request.url);
  if (!url) throw new RequestError(400, "invalid request address");
  requireAccess(url, request.headers.get("origin"), access, "; start the server with --origin to allow it");
  return url;
}
