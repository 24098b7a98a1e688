/** The data and the run of the playground, in its worker. The run's folder is in memory. */
import { formatTime, type TimeKind } from "../src/data/format.ts";
import type { Series, SeriesSet } from "../src/data/series.ts";
import type { TableOptions } from "../src/data/table/options.ts";
import { zipEntries, zipOf } from "../src/data/zip.ts";
import { WeftError } from "../src/device/errors.ts";
import { memoryFolder } from "../src/files/memory.ts";
import type { ParameterTree } from "../src/nn/layer.ts";
import { csvOf } from "../src/series/read/csv.ts";
import type { DataRecord } from "../src/series/record/data_record.ts";
import { ownSeries, ownSeriesWith } from "../src/series/run/own_series.ts";
import { requireClasses } from "../src/series/run/read_targets.ts";
import { typicalDuration } from "../src/series/models/slope_scale.ts";
import { typicalGap, typicalSpan } from "../src/series/read/spans.ts";
import { selectEvenly } from "../src/series/math/select_evenly.ts";
import type { ClassPrediction, ForecastPrediction, Prediction } from "../src/series/record/predictions.ts";
import { type Predictor, predictorOf } from "../src/series/run/predictor.ts";
import { readSeries } from "../src/series/read/read_series.ts";
import type { SeriesSettings } from "../src/series/record/settings.ts";
import type { TrainedModel } from "../src/series/models/trained_model.ts";
import type { Experiment } from "../src/train/experiment.ts";
import { configOf, readRunConfig, type RunConfig } from "../src/train/run/config.ts";
import type { EpochMetrics } from "../src/train/report/epoch_metrics.ts";
import { execute, readCalibration, startRun } from "../src/train/run/run.ts";
import { runFolder } from "../src/train/run/run_folder.ts";
import { openBest } from "../src/train/run/trained_run.ts";
import { exampleSet } from "./examples.ts";
import { forecastsOf, futureName, futureSet, futureSteps, pastSteps, pastView } from "./future.ts";
import { commandOf, settingsOf } from "./settings.ts";
import { makeViewer, plainView, type Viewer } from "./inside.ts";
import type { Calls, Choice, DataInfo, DataName, Look, Next, Result, Row, Shown } from "./messages.ts";

const experiment: Experiment = ownSeries;

/** Number of example series: 210 for training, 45 for validation and 45 for testing. */
const exampleCount = 300;

/** Most series that the page draws beside each other. */
const mostLines = 30;

/** A run's folder in memory. */
interface OpenRun {
  readonly memory: ReturnType<typeof memoryFolder>;
  readonly config: RunConfig;
  readonly record: DataRecord;
  /** Parameters while the run trains. */
  readonly parameters?: ParameterTree;
  /** Sees the states of the model, if that is possible. */
  readonly viewer?: Viewer;
  /** Number of complete epochs. */
  epochs: number;
}

/** A time in the notation of a table. */
function written(time: number, kind: TimeKind): number | string {
  return kind === "number" ? time : formatTime(time, kind);
}

/** The best weights of a run. */
interface Best {
  readonly run: OpenRun;
  readonly epochs: number;
  readonly parameters: ParameterTree;
  readonly predictor: Predictor;
  readonly temperature: number;
}

let set: SeriesSet | undefined;
let run: OpenRun | undefined;
let best: Best | undefined;
/** The series that the page shows, and the moment of its plane. */
let [shown, moment]: [Shown, number] = [[], 0];
/** Data of the page, as far as the plane needs them. */
let info: DataInfo | undefined;
/** Number of steps of a forecast; undefined for data that are classified. */
let steps: number | undefined;
/** Name and columns of the visitor's table. Its run reads other tables by these columns. */
let [fileName, table]: [string?, TableOptions?] = [];

/** Settles when the last action has ended. */
let ended: Promise<unknown> = Promise.resolve();

/** Runs an action after those before it: opening a run or starting a training changes the device, which others use. */
export function alone<T>(action: () => Promise<T>): Promise<T> {
  const result = ended.then(action);
  ended = result.catch(() => {});
  return result;
}

/** The current run, to see whether another took its place. */
export function currentRun(): object | undefined {
  return run;
}

/** Makes example data, or reads a table: see {@linkcode Calls.load}. */
export async function load(
  source: DataName | File,
  { trained, steps: wanted = futureSteps, table: columns, task }: Parameters<Calls["load"]>[1] = {},
): Promise<DataInfo> {
  const isForecast = source === futureName || task === "forecast";
  const found = source === futureName
    ? futureSet()
    : typeof source === "string"
    ? exampleSet(source, exampleCount, 0)
    : await readSeries(source, { targets: isForecast ? "channels" : "classes", ...columns });
  if (source instanceof File && !isForecast) requireClasses(found);
  if (trained) await open([trained], "cpu");
  else close();
  [set, steps] = [found, isForecast ? wanted : undefined];
  [fileName, table] = [source instanceof File ? source.name : undefined, columns];
  const { channels, series, classes } = found;
  const ranges = channels.map((name, c) => {
    let [low, high] = [Infinity, -Infinity];
    for (const { values } of series) {
      // A pad of a forecast shows the last observations.
      const start = isForecast ? Math.max(0, values.length - pastSteps(wanted) * channels.length) : 0;
      for (let i = start + c; i < values.length; i += channels.length) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
      }
    }
    // An interval is wider than its data.
    const margin = isForecast ? 0.3 * (high - low) : 0;
    return { name, low: low - margin, high: high + margin };
  });
  const span = typicalSpan(series);
  return info = {
    name: found.name,
    channels: ranges,
    classes,
    series: series.map(({ name, label }) => ({ name, label: classes[label] ?? "" })),
    lines: classes.flatMap((_, label) => {
      const members = series.filter((one) => one.label === label);
      return selectEvenly(members, Math.ceil(mostLines / classes.length));
    }).map(({ label, times, values }) => ({
      label,
      times: Array.from(times, (time) => (time - times[0]) / span),
      rows: Array.from(times, (_, t) => [...values.slice(t * channels.length, (t + 1) * channels.length)]),
    })),
    gap: typicalGap(found),
    ...{ timeKind: found.times, futureSteps: steps },
    notices: found.notices ?? [],
    trained: trainedModel(),
  };
}

/** The model of the run that is open, and its accuracy on the test set. */
function trainedModel(): DataInfo["trained"] {
  if (!run) return undefined;
  const { model = "neural-cde" } = run.config as RunConfig & SeriesSettings;
  const summary = run.memory.files.get("summary.json");
  const { test } = summary ? JSON.parse(new TextDecoder().decode(summary)) : { test: {} };
  return { model, accuracy: test.accuracy };
}

/** Trains a new run. @param onEpoch Called after each epoch, which it may delay. */
export async function train(
  choice: Choice,
  stopped: AbortSignal,
  onEpoch: (metrics: EpochMetrics) => Promise<void>,
): Promise<Result> {
  const data = requireData();
  const learned: Experiment = ownSeriesWith({ inMemory: { data } });
  // A drawing is short.
  const context = data.name === futureName ? pastSteps(steps!) : undefined;
  const settings = settingsOf(choice, { horizon: steps, context, table });
  const config = configOf(learned, { ...settings });
  const memory = memoryFolder("run");
  const started = await alone(() => startRun(learned, config, runFolder(memory.path))).catch((error) => {
    memory[Symbol.dispose]();
    throw error;
  });
  close();
  const { task: { record, parameters }, device: { description } } = started;
  const viewer = viewerOf(started.config, record);
  const opened: OpenRun = { memory, config: started.config, record, parameters, viewer, epochs: 0 };
  run = opened;
  const repeated = new AbortController();
  const signal = AbortSignal.any([stopped, repeated.signal]);
  const { summary } = await execute(started, {
    isLocked: true,
    signal,
    async onEpoch(metrics) {
      opened.epochs = metrics.epoch;
      await onEpoch(metrics);
      if (metrics.epoch === choice.stopAfter) repeated.abort();
    },
    onWarning: () => {},
  });
  // After training the best weights are those of the model, with their calibration.
  if (run === opened) run = { ...opened, parameters: undefined, epochs: opened.epochs + 1 };
  const { test, verdict } = summary ?? {};
  const command = fileName && commandOf(settings, fileName);
  return { accuracy: test?.accuracy, verdict, isStopped: !summary, device: description, command };
}

/** Opens the files of a run's folder, or a zip archive of it. */
export async function open(files: readonly File[], device: Choice["device"]): Promise<DataInfo> {
  const content = await contentOf(files);
  const memory = memoryFolder("run", content);
  try {
    const config = { ...await readRunConfig(runFolder(memory.path), [experiment]), device };
    const opened = await openBest<TrainedModel, DataRecord>(experiment, config, runFolder(memory.path));
    const { record } = opened;
    if (record.classes.length === 0 && !record.windows) {
      throw new WeftError(
        "unsupported-format",
        "the run predicts numbers; open a run of --task classify or --task forecast",
      );
    }
    close();
    [set, steps] = [undefined, record.windows?.horizon];
    run = {
      memory,
      config,
      record,
      viewer: viewerOf(config, record),
      epochs: 0,
    };
    const gaps = record.pace?.gaps ?? record.length - 1;
    return info = {
      name: "run",
      channels: record.channels.map(({ name, mean, standardDeviation }) => ({
        ...{ name, low: mean - 2.5 * standardDeviation, high: mean + 2.5 * standardDeviation },
      })),
      classes: record.classes,
      ...{ series: [], lines: [] },
      gap: record.windows?.gap ?? typicalDuration / record.time.scale / Math.max(1, gaps),
      ...{ timeKind: record.time.kind, futureSteps: steps },
      notices: [],
      trained: trainedModel(),
    };
  } catch (error) {
    memory[Symbol.dispose]();
    throw error;
  }
}

/** The files of a folder by name. A zip archive is unpacked. */
async function contentOf(files: readonly File[]): Promise<Record<string, Uint8Array<ArrayBuffer>>> {
  const all: [string, Uint8Array<ArrayBuffer>][] = [];
  for (const file of files) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    if (!/\.zip$/i.test(file.name)) all.push([file.name, bytes]);
    else {
      for (const { name, read } of zipEntries(bytes, file.name)) {
        if (!name.endsWith("/")) all.push([name.split("/").at(-1)!, new Uint8Array(await read())]);
      }
    }
  }
  return Object.fromEntries(all);
}

/** Chooses the series that the page shows, and looks inside the model along it. */
export async function look(wanted: Shown, at: number): Promise<Look | undefined> {
  [shown, moment] = [wanted, at];
  return await lookAgain();
}

/** Looks along the same series again, by the weights of now. Undefined without a model or a series. */
export async function lookAgain(): Promise<Look | undefined> {
  const series = shownSeries();
  if (!series) return undefined;
  if (steps !== undefined) return { view: pastView(series, namesOf(), steps), next: await next(moment) };
  if (!run) return undefined;
  if (run.viewer && run.parameters) {
    return { view: await run.viewer.view(series, run.parameters, 1), next: await next(moment) };
  }
  const { predictor, temperature, parameters } = await bestOf(requireRun());
  if (!run.viewer) {
    return { view: await plainView(series, run.record, predictor as Predictor<ClassPrediction>), next: {} };
  }
  return { view: await run.viewer.view(series, parameters, temperature), next: await next(moment) };
}

/** Predicts after a moment of the series that the page shows. */
export async function next(at: number): Promise<Next> {
  moment = at;
  const series = shownSeries();
  if (!info || !series) return {};
  if (steps === undefined) return { plane: await run?.viewer?.plane(moment, info.gap, info.channels) };
  // A forecast needs the calibration, which follows the training.
  if (!run || run.parameters) return {};
  const { predictor } = await bestOf(run);
  const { times, values } = series;
  const end = Math.max(0, times.length - pastSteps(steps)) + moment + 1;
  const past = { ...series, times: times.slice(0, end), values: values.slice(0, end * info.channels.length) };
  return { forecasts: await forecastsOf(predictor as Predictor<ForecastPrediction>, namesOf(), past) };
}

/** Names of the channels, and the notation of the times. */
function namesOf(): Pick<SeriesSet, "channels" | "times"> {
  const { channels, timeKind } = info!;
  return { channels: channels.map(({ name }) => name), times: timeKind };
}

/** Sees the states of a model that classifies, if that is possible. */
function viewerOf(config: RunConfig, record: DataRecord): Viewer | undefined {
  return record.windows ? undefined : makeViewer(config as RunConfig & SeriesSettings, record);
}

/** The series that the page shows. */
function shownSeries(): Series | undefined {
  return typeof shown === "string" ? set?.series.find(({ name }) => name === shown) : drawnSeries(shown);
}

function drawnSeries(rows: readonly Row[]): Series | undefined {
  if (rows.length === 0) return undefined;
  // A drawing has dates of the data, because their calendar may lack others.
  const isDated = steps !== undefined && info?.timeKind !== "number";
  const dates = isDated ? set?.series[0].times.slice(-pastSteps(steps!)) : undefined;
  const times = Float64Array.from(rows, ({ time }, i) => dates?.[i] ?? time);
  return { name: "drawn", times, values: Float64Array.from(rows.flatMap(({ values }) => values)), label: -1 };
}

/** Predicts the series of a table. */
export async function predict(table: File): Promise<readonly Prediction[]> {
  const { predictor } = await bestOf(requireRun());
  return await predictor.predict(table);
}

/** The series of the test set as CSV: those that decide the accuracy after training. */
export function testSeries(): string {
  const { channels, series, classes, times: kind } = requireData();
  const names = new Set(requireRun().record.split.test.map(({ name }) => name));
  const rows = series.filter(({ name }) => names.has(name)).flatMap(({ name, times, values, label }) =>
    Array.from(times, (time, t) => [
      ...[name, written(time, kind)],
      ...channels.map((_, c) => values[t * channels.length + c]).map((value) =>
        Number.isNaN(value) ? "" : value
      ),
      classes[label],
    ])
  );
  return `${csvOf([["series", "time", ...channels, "label"], ...rows])}\n`;
}

/** The run's folder as a zip archive. */
export async function save(): Promise<Uint8Array<ArrayBuffer>> {
  const { memory } = (await bestOf(requireRun())).run;
  return zipOf(Object.fromEntries([...memory.files].map(([name, bytes]) => [`weft-run/${name}`, bytes])));
}

/** Opens the best weights of a run. They are opened again after an epoch. */
async function bestOf(run: OpenRun): Promise<Best> {
  const { memory, config, epochs } = run;
  if (best?.run === run && best.epochs === epochs) return best;
  const folder = runFolder(memory.path);
  const trained = await openBest<TrainedModel, DataRecord>(experiment, config, folder);
  const { temperature = 1 } = await readCalibration(folder.best) ?? {};
  best = {
    ...{ run, epochs, temperature: Number(temperature) },
    parameters: trained.model.parameters,
    predictor: predictorOf(trained, Object.fromEntries(memory.files)),
  };
  return best;
}

/** Forgets the run. */
function close(): void {
  run?.memory[Symbol.dispose]();
  [run, best] = [undefined, undefined];
}

function requireData(): SeriesSet {
  if (set) return set;
  throw new WeftError("missing-option", "there are no data; choose example data, or open a CSV file");
}

function requireRun(): OpenRun {
  if (run && (run.epochs > 0 || !run.parameters)) return run;
  throw new WeftError(
    "unreadable-file",
    "there is no trained model; train at least one epoch, or open a run's folder",
  );
}
