/** A trained run that answers requests: its model, and what the server counts. */
import { accessNames, limitNames, serviceOptionNames } from "./option_names.ts";
import { checkOptions } from "../device/options.ts";
import { cpuUsage } from "node:process";
import type { Prediction } from "../series/predictions.ts";
import type { RunConfig } from "../train/config.ts";
import type { DataRecord } from "../series/data_record.ts";
import type { SeriesSettings } from "../series/settings.ts";
import type { TrainedModel } from "../series/trained_model.ts";
import type { TrainedRun } from "../train/trained_run.ts";
import type { Room } from "./body.ts";
import type { ColumnNames } from "./json.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import { type Counter, counter, gauge, type Histogram, histogram, type Metric } from "./metrics.ts";
import { type Sockets, socketsOf } from "./sockets.ts";
import { type Streams, streamsOf } from "./streams.ts";
import { type Queue, queueOf } from "./queue.ts";

/** An answer that was given, for the page that shows the latest. */
export interface GivenAnswer {
  /** When, as in ISO 8601. */
  readonly at: string;
  /** The answer. */
  readonly answer: Prediction;
}

/** A trained run that answers requests. */
export interface Service {
  /** The run's name, which is its folder's. */
  readonly name: string;
  /** Configuration of the run. */
  readonly config: RunConfig;
  /** Record of the data that it was trained on. */
  readonly record: DataRecord;
  /** Its model. */
  readonly model: Pick<TrainedModel, "stream"> & Required<Pick<TrainedModel, "series" | "predict">>;
  /** Names of the columns of its table. */
  readonly names: ColumnNames;
  /** Limits of requests and streams. */
  readonly limits: Limits;
  /** Room for bodies. */
  readonly room: Room;
  /** Requests for predictions. */
  readonly predictions: Queue;
  /** Counters. */
  readonly metrics: ServiceMetrics;
  /** The latest answers, the last one first. */
  readonly latest: readonly GivenAnswer[];
  /** Takes note of answers: the server is not failing any more. */
  onPredictions(answers: readonly Prediction[]): void;
  /** The series that are followed. */
  readonly streams: Streams;
  /** The WebSockets that are open. */
  readonly sockets: Sockets;
  /** Hosts and origins that requests are accepted from. */
  readonly access: Access;
  /** Whether the server can compute answers. */
  readonly health: Health;
  /** Writes an internal error to the log. */
  log(error: unknown): void;
  /** Logs an internal error, and notes that the server is failing. */
  onFailure(error: unknown): void;
}

/** Whether a server can compute answers. */
export interface Health {
  /** Whether there was an internal error since the last prediction. */
  isFailing: boolean;
}

/** Hosts and origins that a server accepts requests from. */
export interface Access {
  /** Names of the host that it answers to; any, where there is nothing. */
  readonly hosts?: readonly string[];
  /** Origins of the web pages that may ask it, beside its own. */
  readonly origins: readonly string[];
}

/** Options of {@linkcode serviceOf}. */
export interface ServiceOptions {
  /** Limits that differ from {@linkcode defaultLimits}. */
  limits?: Partial<Limits>;
  /** Hosts and origins that requests are accepted from: any host and no other origin by default. */
  access?: Access;
  /** Receives what went wrong with the server itself, which is printed by default. */
  log?: (error: unknown) => void;
}

/** Number of answers that are shown. */
const shown = 20;

/**
 * The service of a run.
 *
 * @throws {Error} If its model answers nothing about other series.
 */
export function serviceOf(
  { config, record, folder, model }: TrainedRun<TrainedModel, DataRecord>,
  options: ServiceOptions = {},
): Service {
  checkOptions("serviceOf", options, serviceOptionNames);
  if (options.limits !== undefined) checkOptions("serviceOf: limits", options.limits, limitNames);
  if (options.access !== undefined) checkOptions("serviceOf: access", options.access, accessNames);
  const { series, predict, stream } = model;
  if (!series || !predict) {
    throw new Error(`${folder.path}: ${config.experiment} answers nothing about other series`);
  }
  const limits = { ...defaultLimits, ...options.limits };
  const predictions = queueOf(limits.predictions);
  const { table: { series: name = "series", time = "time" } = {} } = config as RunConfig & SeriesSettings;
  const latest: GivenAnswer[] = [];
  const metrics = serviceMetrics();
  const health: Health = { isFailing: false };
  const log = options.log ?? ((error: unknown) => console.error(error));
  const service: Omit<Service, "streams" | "sockets" | "metrics"> & { metrics: typeof metrics } = {
    name: folder.path.replace(/^.*[\\/]/, ""),
    config,
    record,
    model: { series, predict, stream },
    names: { series: name, time },
    limits,
    room: { left: limits.bodiesBytes },
    predictions,
    metrics,
    latest,
    onPredictions(answers) {
      health.isFailing = false;
      metrics.answers.add({}, answers.length);
      const at = new Date().toISOString();
      latest.unshift(...answers.slice(-shown).reverse().map((answer) => ({ at, answer })));
      latest.length = Math.min(latest.length, shown);
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
    metrics: { ...metrics, gauges: gaugesOf({ predictions, streams, sockets }) },
  };
}

/** Counters of a service. */
export interface ServiceMetrics {
  /** Requests by route and status. */
  readonly requests: Counter;
  /** Seconds from a request to its answer, by route. */
  readonly seconds: Histogram;
  /** Answers about series. */
  readonly answers: Counter;
  /** Seconds from an observation of a stream to its answer. */
  readonly streamSeconds: Histogram;
  /** Messages of streams that were refused. */
  readonly refused: Counter;
  /** Series dropped because too many were followed. */
  readonly dropped: Counter;
  /** Gauges, read when they are asked for. */
  readonly gauges: readonly Metric[];
}

function serviceMetrics(): Omit<ServiceMetrics, "gauges"> {
  return {
    requests: counter("weft_requests_total", "Requests by route and status."),
    seconds: histogram("weft_request_duration_seconds", "Seconds from a request to its answer, by route."),
    answers: counter("weft_answers_total", "Answers about series."),
    streamSeconds: histogram(
      "weft_stream_answer_duration_seconds",
      "Seconds from an observation of a stream to its answer.",
    ),
    refused: counter("weft_stream_errors_total", "Messages of streams that were refused."),
    dropped: counter("weft_streams_dropped_total", "Series dropped because too many were followed."),
  };
}

function gaugesOf(
  { predictions, streams, sockets }: Pick<Service, "predictions" | "streams" | "sockets">,
): Metric[] {
  return [
    gauge("weft_streams", "Series that are followed.", () => streams.count),
    gauge("weft_sockets", "Open WebSockets.", () => sockets.count),
    gauge(
      "weft_predictions_waiting",
      "Requests for predictions that are computed or wait.",
      () => predictions.count,
    ),
    gauge("process_resident_memory_bytes", "Memory of the process.", () => Deno.memoryUsage().rss),
    gauge("process_cpu_seconds_total", "Seconds of processor time, of all threads.", () => {
      const { user, system } = cpuUsage();
      return (user + system) / 1e6;
    }, "counter"),
  ];
}
