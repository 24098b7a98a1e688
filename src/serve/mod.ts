/** A trained model that answers requests. */
export { defaultLimits, type Limits } from "./limits.ts";
export { type Handler, handlerOf } from "./routes.ts";
export { isLoopback, loopbackNames, type RunningServer, startServer } from "./server.ts";
export { type Message, type Streams } from "./streams.ts";
export { type Access, type Service, serviceOf } from "./service.ts";
