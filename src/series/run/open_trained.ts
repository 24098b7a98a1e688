/** Opens a trained model from the files of its run: in a page, in Node, or in Deno. */
import type { DeviceChoice } from "../../device/choice.ts";
import { OptionError, WeftError } from "../../device/errors.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { diskOf, readBytesIfPresent } from "../../files/disk.ts";
import { memoryFolder } from "../../files/memory.ts";
import { readRunConfig } from "../../train/run/config.ts";
import { type Experiment, experimentNamed } from "../../train/experiment.ts";
import { findRun, type RunFolder, runFolder } from "../../train/run/run_folder.ts";
import { openBest } from "../../train/run/trained_run.ts";
import type { DataRecord } from "../record/data_record.ts";
import type { Model } from "../models/model.ts";
import { ownSeriesWith } from "./own_series.ts";
import type {
  ClassPrediction,
  ForecastPrediction,
  NumberPrediction,
  TaskKind,
} from "../record/predictions.ts";
import { type Predictor, predictorOf } from "./predictor.ts";
import type { TrainedModel } from "../models/trained_model.ts";

/** Content of a file. */
export type FileContent = Blob | Response | Uint8Array | ArrayBuffer;

/**
 * Files of a run's folder: by their names, or `File` objects with these names, such as the files of an input
 * element. Other files are ignored.
 */
export type RunFiles = Readonly<Record<string, FileContent>> | Iterable<File> | ArrayLike<File>;

/** The prediction of each task. */
export interface Predictions {
  /** Classification. */
  readonly classify: ClassPrediction;
  /** Regression. */
  readonly regress: NumberPrediction;
  /** Forecast. */
  readonly forecast: ForecastPrediction;
}

/** Options of {@linkcode openTrained}. */
export interface OpenTrainedOptions<Task extends TaskKind = TaskKind> {
  /** Task that the model must have. Gives `predict` and `stream` the type of its predictions. */
  task?: Task;
  /** Device. `"auto"`, the default: the CPU if it trained the run, else a hardware GPU if available. */
  device?: DeviceChoice;
  /** Models that were given in training; by default {@linkcode seriesModels}. */
  models?: readonly Model[];
  /** Known experiments; by default `own-series` with the models. */
  experiments?: readonly Experiment[];
}

const optionNames = namesOf<OpenTrainedOptions>()("task? device? models? experiments?");

/** Names of the files that a model needs for predictions. */
const fileNames = ["config.json", "data.json", "best.safetensors"] as const;
type FileName = typeof fileNames[number];

/**
 * Opens a model that `deno task train own-series` or a function such as {@linkcode classify} has trained. Only
 * `config.json`, `data.json` and `best.safetensors` of the run's folder are needed. On the same device, the
 * predictions equal those of `deno task predict` bit for bit. Calls `init` with the device.
 *
 * @example
 * ```ts
 * import { classify, openTrained } from "@weft/weft/series";
 *
 * const rows = Array.from({ length: 30 * 12 }, (_, i) => {
 *   const [series, time] = [Math.floor(i / 12), i % 12];
 *   const label = series % 2 ? "fast" : "slow";
 *   return { series: `s${series}`, time, x: Math.sin(series + time * (series % 2 ? 1.6 : 0.8)), label };
 * });
 * const options = { model: "delta", online: true, epochs: 2, device: "cpu" } as const;
 * const { files } = await classify({ name: "waves", rows }, options);
 *
 * const model = await openTrained(files, { task: "classify" });
 * const [{ label, probability }] = await model.predict({ name: "new", rows: rows.slice(0, 12) });
 * console.log(label, probability);
 * const stream = model.stream!("s1");
 * for (const { time, x } of rows.slice(12, 24)) console.log((await stream.push(time, { x })).label);
 * ```
 *
 * @param run Files of a run's folder, or the path or the URL of the folder. The path may also be that of a
 * folder of runs: its newest run is opened. `http:` and `https:` URLs are fetched.
 * @throws {WeftError} If a file is missing or damaged, or another version of Weft wrote it.
 * @throws {OptionError} If an option is not valid, or the model has another task.
 */
export async function openTrained<Task extends TaskKind = TaskKind>(
  run: string | URL | RunFiles,
  options: OpenTrainedOptions<Task> = {},
): Promise<Predictor<Predictions[Task]>> {
  checkOptions("openTrained", options, optionNames);
  const { task, device = "auto", models, experiments = [ownSeriesWith({ models })] } = options;
  using opened = await folderOf(run);
  const { folder } = opened;
  const config = await readRunConfig(folder, experiments);
  const { task: trained = "classify" } = config as { readonly task?: TaskKind };
  if (task !== undefined && task !== trained) {
    throw new OptionError("invalid-option", `openTrained: task is ${task}, but the run has ${trained}`, {
      option: "task",
      expected: trained,
    });
  }
  const experiment = experimentNamed(experiments, config.experiment);
  const best = await openBest<TrainedModel, DataRecord>(experiment, { ...config, device }, folder);
  const files = fileNames.map(async (name) => [name, await readBytesIfPresent(`${folder.path}/${name}`)]);
  return predictorOf(best, Object.fromEntries(await Promise.all(files)));
}

/** A run's folder, which is removed from memory when it is disposed. */
interface OpenFolder extends Disposable {
  readonly folder: RunFolder;
}

async function folderOf(run: string | URL | RunFiles): Promise<OpenFolder> {
  if (run instanceof URL && run.protocol === "file:") return await onDisk(diskOf(run.href).pathOf(run));
  if (typeof run === "string") return await onDisk(run);
  return run instanceof URL
    ? await inMemory(run.href, (name) => fetched(run, name))
    : await inMemory("files", contentIn(run));
}

async function onDisk(path: string): Promise<OpenFolder> {
  return { folder: await findRun(path), [Symbol.dispose]() {} };
}

/** @param contentOf Content of a file; undefined if the file does not exist. */
async function inMemory(
  name: string,
  contentOf: (name: FileName) => Promise<FileContent> | FileContent | undefined,
): Promise<OpenFolder> {
  const files = await Promise.all(fileNames.map(async (name) => {
    const bytes = await bytesOf(name, await contentOf(name));
    return bytes ? [[name, bytes] as const] : [];
  }));
  const memory = memoryFolder(name, Object.fromEntries(files.flat()));
  return { folder: runFolder(memory.path), [Symbol.dispose]: () => memory[Symbol.dispose]() };
}

/** Fetches a file of a folder. */
async function fetched(folder: URL, name: string): Promise<Response> {
  const url = new URL(folder);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${name}`;
  return await fetch(url).catch((error) => {
    throw new WeftError("unreadable-file", `${url}: cannot be fetched (${error.message})`);
  });
}

/** Finds a file by its name. */
function contentIn(files: RunFiles): (name: FileName) => FileContent | undefined {
  if (typeof files !== "object" || files === null) {
    throw new TypeError("openTrained: expected the files of a run by name, a path or a URL");
  }
  if (!(Symbol.iterator in files)) return (name) => (files as Readonly<Record<string, FileContent>>)[name];
  const list = [...files as Iterable<File>];
  return (name) => {
    const matches = list.filter((file) => file.name === name);
    if (matches.length <= 1) return matches[0];
    const expected = "the files of one run";
    throw new WeftError("unreadable-file", `openTrained: ${matches.length} files are called ${name}`, {
      expected,
      fixes: [`expected ${expected}`],
    });
  };
}

/** Bytes of a file; undefined for a file that does not exist. */
async function bytesOf(
  name: string,
  content: FileContent | undefined,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (content === undefined) return undefined;
  if (content instanceof Uint8Array || content instanceof ArrayBuffer) return new Uint8Array(content);
  if (content instanceof Response) {
    if (content.status === 404) return undefined;
    if (!content.ok) {
      throw new WeftError("unreadable-file", `${content.url || name}: the server answered ${content.status}`);
    }
  } else if (!(content instanceof Blob)) {
    throw new TypeError(`openTrained: ${name} is ${typeof content}; expected bytes, a File or a Response`);
  }
  try {
    return new Uint8Array(await content.arrayBuffer());
  } catch (error) {
    throw new WeftError("unreadable-file", `${name}: cannot be read (${(error as Error).message})`);
  }
}
