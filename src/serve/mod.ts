/** HTTP server for a trained model. */
export { type Access, loopbackNames } from "./access.ts";
export type { BodyBudget } from "./body.ts";
export { defaultLimits, type Limits } from "./limits.ts";
export type { Counter, Histogram, Labels, Metric } from "./metrics.ts";
export type { ProblemFields } from "./problem.ts";
export { type Handler, handlerOf } from "./routes.ts";
export { isLoopback, type RunningServer, startServer } from "./server.ts";
export * from "./service.ts";
export type { ServerSocket, Sockets } from "./sockets.ts";
export type { Client, Message, StreamMetrics, Streams, StreamService } from "./streams.ts";
export type { Queue } from "./queue.ts";
