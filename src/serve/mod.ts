/** HTTP server for a trained model. */
export type { GivenAnswer } from "./answer_parts.ts";
export { type Access, loopbackNames } from "./access.ts";
export { type Account, type Charge, type MemoryUse, shares } from "./account.ts";
export type { Compute, ComputedAnswer, PredictionJob } from "./compute.ts";
export { connectionsWithin } from "./descriptors.ts";
export { defaultLimits, type Limits, limitsOf } from "./limits.ts";
export type { Counter, Histogram, Labels, Metric } from "./metrics.ts";
export type { ProblemFields } from "./problem.ts";
export { type Handler, handlerOf } from "./routes.ts";
export { isLoopback, type RunningServer, startServer } from "./server.ts";
export * from "./service.ts";
export type { ServerSocket, SocketConnection, Sockets } from "./sockets.ts";
export type { Client, Message, StreamJournal, StreamMetrics, Streams, StreamService } from "./streams.ts";
export type { Predictions, PredictionThreads } from "./predictions.ts";
export type { PredictionStart } from "./prediction_messages.ts";
export { type StartedThreads, startPredictionThreads } from "./prediction_threads.ts";
export { openStreamStore, type StreamStore } from "./stream_store.ts";
