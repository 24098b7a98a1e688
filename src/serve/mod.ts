/** HTTP server for a trained model. */
export type { RecentAnswer } from "./pages/answer_parts.ts";
export { type Access, loopbackNames } from "./http/access.ts";
export { type Account, type Charge, type MemoryUse, shares } from "./account.ts";
export type { Compute, ComputedAnswer, PredictionJob } from "./predictions/compute.ts";
export { connectionsWithin } from "./http/descriptors.ts";
export { defaultLimits, type Limits, limitsOf } from "./limits.ts";
export type { Counter, Histogram, Labels, Metric } from "./pages/metrics.ts";
export type { ProblemFields } from "./http/problem.ts";
export { type Handler, handlerOf } from "./routes.ts";
export { isLoopback, type RunningServer, startServer } from "./server.ts";
export * from "./service.ts";
export type { ServerSocket, SocketConnection, Sockets } from "./streams/sockets.ts";
export type {
  Client,
  Message,
  StreamJournal,
  StreamMetrics,
  Streams,
  StreamService,
} from "./streams/streams.ts";
export type { Predictions, PredictionThreads } from "./predictions/predictions.ts";
export type { PredictionStart } from "./predictions/prediction_messages.ts";
export { type StartedThreads, startPredictionThreads } from "./predictions/prediction_threads.ts";
export { openStreamStore, type StreamStore } from "./streams/stream_store.ts";
