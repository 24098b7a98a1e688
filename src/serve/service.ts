/** A trained run as a service: its model, limits, streams and counters. */
import { checkOptions, namesOf } from "../device/options.ts";
import { printableLines } from "../device/printable.ts";
import { cpuUsage } from "node:process";
import type { RunConfig } from "../train/run/config.ts";
import type { DataRecord } from "../series/record/data_record.ts";
import { columnNames } from "../series/run/observation_stream.ts";
import { requirePredictions, type TrainedModel } from "../series/models/trained_model.ts";
import type { TrainedRun } from "../train/run/trained_run.ts";
import type { Access } from "./http/access.ts";
import type { RecentAnswer } from "./pages/answer_parts.ts";
import { accountOf, memoryUses } from "./account.ts";
import { computeWith, latestCount } from "./predictions/compute.ts";
import { limitNames, type Limits, limitsOf } from "./limits.ts";
import {
  type Counter,
  counter,
  gauge,
  gauges,
  type Histogram,
  histogram,
  type Metric,
} from "./pages/metrics.ts";
import { type Sockets, socketsOf } from "./streams/sockets.ts";
import {
  type StreamJournal,
  type StreamMetrics,
  type Streams,
  type StreamService,
  streamsOf,
} from "./streams/streams.ts";
import { type Predictions, predictionsOf, type PredictionThreads } from "./predictions/predictions.ts";

/** A trained run as a service. */
export interface Service extends StreamService {
  /** Name of the run, which is the name of its folder. */
  readonly name: string;
  /** Configuration of the run. */
  readonly config: RunConfig;
  /** Model of the run. */
  readonly model: Pick<TrainedModel, "stream"> & Required<Pick<TrainedModel, "series" | "predict">>;
  /** Requests for predictions. */
  readonly predictions: Predictions;
  /** Counters. */
  readonly metrics: ServiceMetrics;
  /** The latest answers, newest first. */
  readonly latest: readonly RecentAnswer[];
  /** The streamed series. */
  readonly streams: Streams;
  /** The open WebSockets. */
  readonly sockets: Sockets;
  /** Allowed hosts and origins of requests. */
  readonly access: Access;
  /** Whether the server can compute predictions. */
  readonly health: Health;
  /** Writes an internal error to the log. */
  log(error: unknown): void;
}

/** Whether a server can compute predictions. */
export interface Health {
  /** Whether there was an internal error since the last prediction. */
  isFailing: boolean;
}

const accessNames = namesOf<Access>()("hosts? origins");

/** Options of {@linkcode serviceOf}. */
export interface ServiceOptions {
  /** Limits that differ from {@linkcode defaultLimits}. */
  limits?: Partial<Limits>;
  /** Allowed hosts and origins of requests. By default any host, and no other origin. */
  access?: Access;
  /** Receives internal errors of the server. By default they are printed. */
  log?: (error: unknown) => void;
  /** Threads that compute predictions. By default they are computed in this thread. */
  threads?: PredictionThreads;
  /** Keeps the states of streams over restarts. By default they are lost. */
  store?: StreamJournal;
}

const serviceOptionNames = namesOf<ServiceOptions>()("limits? access? log? threads? store?");

/** Longest answer among the latest answers, in characters of JSON. Longer answers are not listed. */
const listedLength = 2 ** 16;

/**
 * Makes the service of a run.
 *
 * @throws {Error} If the model cannot predict new series.
 */
export function serviceOf(
  run: TrainedRun<TrainedModel, DataRecord>,
  options: ServiceOptions = {},
): Service {
  checkOptions("serviceOf", options, serviceOptionNames);
  if (options.limits !== undefined) checkOptions("serviceOf: limits", options.limits, limitNames);
  if (options.access !== undefined) checkOptions("serviceOf: access", options.access, accessNames);
  const { config, record, folder } = run;
  const { series, predict, stream } = requirePredictions(run);
  const limits = limitsOf(options.limits);
  const account = accountOf(limits.memory);
  const names = columnNames(config);
  const compute = computeWith({ series, predict }, names, limits);
  const predictions = predictionsOf(options.threads ?? { small: compute, large: compute }, limits);
  const latest: RecentAnswer[] = [];
  const metrics = serviceMetrics();
  const health: Health = { isFailing: false };
  const log = options.log ?? ((error: unknown) => console.error(printableLines(Deno.inspect(error))));
  const service: Omit<Service, "streams" | "sockets" | "metrics"> & { metrics: typeof metrics } = {
    name: folder.path.replace(/^.*[\\/]/, ""),
    config,
    record,
    model: { series, predict, stream },
    names,
    limits,
    account,
    store: options.store,
    predictions,
    metrics,
    latest,
    onPredictions(last, count) {
      health.isFailing = false;
      metrics.answers.add({}, count);
      const at = new Date().toISOString();
      const listed = last.filter((answer) => JSON.stringify(answer).length <= listedLength);
      latest.unshift(...listed.toReversed().map((answer) => ({ at, answer })));
      latest.length = Math.min(latest.length, latestCount);
    },
    access: options.access ?? { origins: [] },
    health,
    log,
    onFailure(error) {
      health.isFailing = true;
      log(error);
    },
  };
  const streams = streamsOf(service);
  const sockets = socketsOf(streams, limits);
  return {
    ...service,
    streams,
    sockets,
    metrics: { ...metrics, gauges: gaugesOf({ account, predictions, streams, sockets }) },
  };
}

/** Counters of a service. */
export interface ServiceMetrics extends StreamMetrics {
  /** Number of requests by route and status. */
  readonly requests: Counter;
  /** Latency of requests in seconds, by route. */
  readonly seconds: Histogram;
  /** Number of predicted series. */
  readonly answers: Counter;
  /** Gauges, evaluated when they are read. */
  readonly gauges: readonly Metric[];
}

function serviceMetrics(): Omit<ServiceMetrics, "gauges"> {
  return {
    requests: counter("weft_requests_total", "Requests by route and status."),
    seconds: histogram("weft_request_duration_seconds", "Seconds from a request to its answer, by route."),
    answers: counter("weft_answers_total", "Predicted series."),
    streamSeconds: histogram(
      "weft_stream_answer_duration_seconds",
      "Seconds from an observation of a stream to its answer.",
    ),
    refused: counter("weft_stream_errors_total", "Rejected messages to streams."),
    dropped: counter("weft_streams_dropped_total", "Streams closed because too many were open."),
  };
}

function gaugesOf(
  { account, predictions, streams, sockets }: Pick<
    Service,
    "account" | "predictions" | "streams" | "sockets"
  >,
): Metric[] {
  return [
    gauge("weft_memory_limit_bytes", "Memory for everything that clients cause.", () => account.total),
    gauges(
      "weft_memory_bytes",
      "Memory that clients cause, by use.",
      () => memoryUses.map((use) => [{ use }, account.usedBy(use)]),
    ),
    gauge(
      "weft_memory_refusals_total",
      "Requests, messages and connections rejected because the memory for clients was exhausted.",
      () => account.refused,
      "counter",
    ),
    gauge("weft_streams", "Open streams.", () => streams.count),
    gauge("weft_sockets", "Open WebSockets.", () => sockets.count),
    gauge(
      "weft_predictions_waiting",
      "Requests for predictions that are running or waiting.",
      () => predictions.count,
    ),
    gauge("process_resident_memory_bytes", "Memory of the process.", () => Deno.memoryUsage().rss),
    gauge("process_cpu_seconds_total", "Seconds of CPU time, of all threads.", () => {
      const { user, system } = cpuUsage();
      return (user + system) / 1e6;
    }, "counter"),
  ];
}
