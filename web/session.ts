/** The data and the run of the playground, in its worker. The run's folder is in memory. */
import { formatTime, type TimeKind } from "../src/data/format.ts";
import type { Series, SeriesSet } from "../src/data/series.ts";
import { zipEntries, zipOf } from "../src/data/zip.ts";
import { WeftError } from "../src/device/errors.ts";
import { memoryFolder } from "../src/files/memory.ts";
import type { ParameterTree } from "../src/nn/layer.ts";
import { csvOf } from "../src/series/read/csv.ts";
import type { DataRecord } from "../src/series/record/data_record.ts";
import type { ObservationStream } from "../src/series/run/observation_stream.ts";
import { ownSeries, ownSeriesWith } from "../src/series/run/own_series.ts";
import { typicalDuration } from "../src/series/models/pace.ts";
import { typicalGap } from "../src/series/read/spans.ts";
import type { ClassPrediction } from "../src/series/record/predictions.ts";
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
import { type ExampleName, exampleSet } from "./examples.ts";
import { lookInside } from "./inside.ts";
import type { Answer, Choice, DataInfo, Result, View } from "./messages.ts";

const experiment: Experiment = ownSeries;

/** Number of example series: 210 for training, 45 for validation and 45 for testing. */
const exampleCount = 300;

/** Sizes and learning rates that suit the example data. */
const modelSettings: Readonly<Record<string, Partial<SeriesSettings>>> = {
  "neural-cde": { hidden: 8, width: 16 },
  "delta-cde": { hidden: 8, heads: 1, feedForward: 16 },
  warp: { hidden: 8 },
};

/** A run's folder in memory. */
interface OpenRun {
  readonly memory: ReturnType<typeof memoryFolder>;
  readonly config: RunConfig;
  readonly record: DataRecord;
  /** Parameters while the run trains. */
  readonly parameters?: ParameterTree;
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
  readonly predictor: Predictor<ClassPrediction>;
  readonly temperature: number;
}

/** The drawn series. */
interface Drawing {
  readonly rows: { readonly time: number; readonly values: readonly number[] }[];
  /** The stream of its predictions; undefined if the model has no streams. */
  stream?: ObservationStream<ClassPrediction>;
}

let set: SeriesSet | undefined;
let run: OpenRun | undefined;
let best: Best | undefined;
let drawing: Drawing = { rows: [] };

/** The current run, to see whether another took its place. */
export function currentRun(): object | undefined {
  return run;
}

/** Makes example data, or reads a table. */
export async function load(source: ExampleName | File): Promise<DataInfo> {
  const found = typeof source === "string"
    ? exampleSet(source, exampleCount, 0)
    : await readSeries(source, { targets: "classes" });
  close();
  set = found;
  const { channels } = found;
  const ranges = channels.map((name, c) => {
    const values = found.series.flatMap((one) => [...one.values].filter((_, i) => i % channels.length === c));
    const known = values.filter(Number.isFinite);
    const [low, high] = known.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [
      Infinity,
      -Infinity,
    ]);
    return { name, low, high };
  });
  return {
    name: found.name,
    channels: ranges,
    classes: found.classes,
    series: found.series.map(({ name, label }) => ({ name, label: found.classes[label] ?? "" })),
    gap: typicalGap(found),
    notices: found.notices ?? [],
  };
}

/** Trains a new run. @param onEpoch Called after each epoch, which it may delay. */
export async function train(
  { model, path, method, device, epochs }: Choice,
  signal: AbortSignal,
  onEpoch: (metrics: EpochMetrics) => Promise<void>,
): Promise<Result> {
  const data = requireData();
  const learned: Experiment = ownSeriesWith({ inMemory: { data } });
  const alongPath = model === "warp" ? {} : { method, ...(path === "hermite" ? { online: true } : {}) };
  const config = configOf(learned, {
    ...{ model, device, epochs, batchSize: 32, learningRate: 0.02 },
    ...modelSettings[model],
    ...alongPath,
  });
  const memory = memoryFolder("run");
  const started = await startRun(learned, config, runFolder(memory.path)).catch((error) => {
    memory[Symbol.dispose]();
    throw error;
  });
  close();
  const { task: { record, parameters }, device: { description } } = started;
  const opened: OpenRun = { memory, config: started.config, record, parameters, epochs: 0 };
  run = opened;
  const { summary } = await execute(started, {
    isLocked: true,
    signal,
    async onEpoch(metrics) {
      opened.epochs = metrics.epoch;
      await onEpoch(metrics);
    },
    onWarning: () => {},
  });
  // After training the best weights are those of the model, with their calibration.
  if (run === opened) run = { ...opened, parameters: undefined, epochs: opened.epochs + 1 };
  return { accuracy: summary?.test.accuracy, verdict: summary?.verdict, device: description };
}

/** Opens the files of a run's folder, or a zip archive of it. */
export async function open(files: readonly File[], device: Choice["device"]): Promise<DataInfo> {
  const content = await contentOf(files);
  const memory = memoryFolder("run", content);
  try {
    const config = { ...await readRunConfig(runFolder(memory.path), [experiment]), device };
    const opened = await openBest<TrainedModel, DataRecord>(experiment, config, runFolder(memory.path));
    const { record } = opened;
    if (record.classes.length === 0) {
      throw new WeftError(
        "unsupported-format",
        "the run does not classify series; open a run of --task classify",
      );
    }
    close();
    set = undefined;
    run = { memory, config, record, epochs: 0 };
    const gaps = record.pace?.gaps ?? record.length - 1;
    return {
      name: "run",
      channels: record.channels.map(({ name, mean, standardDeviation }) => ({
        ...{ name, low: mean - 2.5 * standardDeviation, high: mean + 2.5 * standardDeviation },
      })),
      classes: record.classes,
      series: [],
      gap: typicalDuration / record.time.scale / Math.max(1, gaps),
      notices: [],
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

/** Looks inside the model along a series of the data, or along the drawn series. */
export async function look(name: string | undefined): Promise<View | undefined> {
  const series = name === undefined ? drawnSeries() : set?.series.find((one) => one.name === name);
  if (!series || !run) return undefined;
  const { parameters } = run;
  const made = { config: run.config as RunConfig & SeriesSettings, record: run.record };
  if (parameters) return await lookInside({ ...made, parameters }, series, 1);
  const { temperature, parameters: trained } = await bestOf(run);
  return await lookInside({ ...made, parameters: trained }, series, temperature);
}

/** Starts a new drawn series. */
export function begin(): void {
  drawing = { rows: [] };
}

/** Adds an observation to the drawn series, and predicts its class by the best weights so far. */
export async function push(time: number, values: readonly number[]): Promise<Answer> {
  const current = drawing;
  const { predictor, run: { record } } = await bestOf(requireRun());
  const named = (row: readonly number[]) =>
    Object.fromEntries(record.channels.map(({ name }, c) => [name, Number.isNaN(row[c]) ? null : row[c]]));
  current.rows.push({ time, values });
  const timeOf = (time: number) => written(time, record.time.kind);
  if (!predictor.stream) {
    const rows = current.rows.map(({ time, values }) => ({
      series: "drawn",
      time: timeOf(time),
      ...named(values),
    }));
    return (await predictor.predict({ name: "the drawn series", rows }))[0];
  }
  current.stream ??= predictor.stream("drawn");
  return await current.stream.push(timeOf(time), named(values));
}

function drawnSeries(): Series | undefined {
  const { rows } = drawing;
  if (rows.length < 2) return undefined;
  const times = Float64Array.from(rows, ({ time }) => time);
  return { name: "drawn", times, values: Float64Array.from(rows.flatMap(({ values }) => values)), label: -1 };
}

/** Predicts the series of a table: a line of JSON for each. */
export async function predict(table: File): Promise<string> {
  const { predictor } = await bestOf(requireRun());
  return (await predictor.predict(table)).map((one) => JSON.stringify(one)).join("\n");
}

/** The held-out series as CSV: those that decide the accuracy after training. */
export function heldOut(): string {
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
  [run, best, drawing] = [undefined, undefined, { rows: [] }];
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
