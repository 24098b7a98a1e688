import { basename, join } from "node:path";
import { type Command, Option } from "commander";
import { checkoutCommit } from "../files/commit.ts";
import { makeFolder, writeAtomically } from "../files/disk.ts";
import { key } from "../tensor/random.ts";
import { changeable, configOf, dataPaths, readRunConfig, type RunConfig } from "../train/run/config.ts";
import {
  type Experiment,
  experimentNamed,
  loadExperiment,
  optionsOf,
  runOptions,
  trainingOptions,
} from "../train/experiment.ts";
import { profileStep } from "../train/loop.ts";
import { flag, type OptionSchema } from "../train/option.ts";
import { OptionError } from "../device/errors.ts";
import { formatDuration } from "../charts/format.ts";
import { formatMeasure, measuresInWords } from "../train/report/measure_names.ts";
import { execute, prepareNew, resumeRun, type Run, startRun } from "../train/run/run.ts";
import type { RunSummary } from "../train/run/run_summary.ts";
import { runFolder } from "../train/run/run_folder.ts";
import { keepPaths, type KeptPaths } from "./permissions.ts";
import { runOnce } from "./run_once.ts";
import type { RunStart } from "../train/run/outcome.ts";
import { statistics } from "../train/report/statistics.ts";
import { callOf, command, number, path, prepareDrivers, quoted, requireOwnData } from "./command.ts";
import { addOptions, chosenOptions } from "./experiment_options.ts";
import { measuresText, progressDisplay } from "./progress.ts";
import { speedHint } from "./speed_hint.ts";
import { startViewThread, viewCode } from "../view/thread.ts";
import { tensorBoardLog } from "./tensorboard.ts";
import { print, printError, printLines } from "./print.ts";

/** Options of the command that are not settings of the run. */
interface PlaceOptions {
  readonly out?: string;
  readonly run?: string;
  readonly resume?: string;
  readonly profile?: true;
  readonly tensorboard?: true;
  /** Port of the view; true for the default. */
  readonly view?: number | true;
}

/** A parsed command line. */
interface Parsed {
  readonly experiment: Experiment;
  readonly places: PlaceOptions;
  /** Options of the experiment given on the command line. */
  readonly chosen: Readonly<Record<string, unknown>>;
}

/** Minimum time between two interrupts, in milliseconds. Terminals can send SIGINT twice. */
const interruptPause = 500;

/** Options for the folder of a run, with their help. */
const placeHelp = {
  "--out <folder>": "folder of runs (default: runs)",
  "--run <folder>": "folder of this run: start or resume there",
  "--resume <folder>": "resume an interrupted run (same results)",
  "--tensorboard": "write event files for TensorBoard",
  "--view [port]": "show the report on 127.0.0.1 while the run trains",
  "--profile": "measure one training step instead of training",
} as const;

function addPlaces(program: Command): Command {
  program.optionsGroup("Run:");
  for (const [flags, help] of Object.entries(placeHelp)) {
    const option = new Option(flags, help);
    if (flags.includes("<")) option.argParser(path);
    if (flags.includes("[port]")) {
      option.argParser(number({ from: 0, below: 65536, whole: true })).conflicts("folds");
    }
    if (flags === "--profile") option.conflicts(["run", "folds", "tensorboard", "view"]);
    program.addOption(option);
  }
  return program;
}

/** Flags that only the help of an experiment lists. */
const rareFlags = ["--tensorboard", "--profile"];

/** Help without an experiment: the common options and the experiments, on one screen. */
function overview(experiments: readonly Experiment[]): string {
  const width = Math.max(24, ...experiments.map(({ name }) => name.length));
  const common = trainingOptions({ epochs: 1, batchSize: 1, learningRate: 1 });
  const lines = (options: OptionSchema) =>
    Object.entries(options).map(([name, { placeholder, help }]) =>
      `  ${`${flag(name)} <${placeholder}>`.padEnd(width)}  ${help}`
    );
  return [
    `Usage: ${callOf("train")} [experiment] [options]`,
    "",
    "Train a model. The run's folder gets checkpoints, metrics and a report.",
    "",
    `Common options; ${callOf("train")} <experiment> --help lists all options:`,
    ...lines(common),
    ...lines(runOptions),
    ...Object.entries({ ...placeHelp, "-h, --help": "print this help" })
      .filter(([flags]) => !rareFlags.includes(flags))
      .map(([flags, help]) => `  ${flags.padEnd(width)}  ${help}`),
    "",
    `Experiments (default: ${experiments[0].name}):`,
    ...experiments.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
  ].join("\n");
}

/** Unparsed value of an option on the command line. */
function valueOf(args: readonly string[], option: string): string | undefined {
  const at = args.findIndex((arg) => arg === option || arg.startsWith(`${option}=`));
  if (at < 0) return undefined;
  return args[at] === option ? args[at + 1] : args[at].slice(option.length + 1);
}

/** Flags of the command line, without their values. */
function flagsOf(args: readonly string[]): string[] {
  return args.filter((arg) => arg.startsWith("--")).map((arg) => arg.split("=")[0]);
}

/** @throws {OptionError} If an option belongs to other experiments only. */
function requireOwnOptions(
  args: readonly string[],
  experiment: Experiment,
  experiments: readonly Experiment[],
): void {
  const experimentOptions = optionsOf(experiment);
  const optionNames = new Set(experiments.flatMap((other) => Object.keys(optionsOf(other))));
  const flags = flagsOf(args);
  const foreign = flags.flatMap((one) =>
    [...optionNames].find((name) => !(name in experimentOptions) && flag(name) === one) ?? []
  );
  if (foreign.length === 0) return;
  const others = experiments.filter((other) => foreign.every((name) => name in optionsOf(other)));
  throw new OptionError(
    "unknown-option",
    (write) =>
      `${experiment.name} has no option ${foreign.map(write).join(", ")}` +
      (others.length > 0
        ? `; experiments with these options: ${others.map(({ name }) => name).join(", ")}`
        : "") +
      `; options of ${experiment.name}: ${Object.keys(experiment.options).map(write).join(", ")}`,
    { option: foreign[0] },
  );
}

/** @throws {OptionError} If an option cannot be changed when a run is resumed. */
function requireChangeable(args: readonly string[]): void {
  const others = ["resume", "tensorboard", "view", "profile", "help"];
  const fixed = flagsOf(args).find((argument) =>
    ![...changeable, ...others].some((name) => flag(name) === argument)
  );
  if (fixed === undefined) return;
  throw new OptionError(
    "unusable-option",
    (write) => `${fixed} cannot change when a run is resumed; only ${changeable.map(write).join(", ")} can`,
  );
}

async function parse(
  args: string[],
  experiments: readonly Experiment[],
): Promise<Parsed> {
  const name = args[0]?.startsWith("-") ? undefined : args[0];
  const resume = valueOf(args, "--resume");
  if (resume !== undefined) requireChangeable(args);
  const resumed = resume ? await readRunConfig(runFolder(resume), experiments) : undefined;
  const experiment = experimentNamed(experiments, name ?? resumed?.experiment ?? experiments[0].name);
  requireOwnOptions(args, experiment, experiments);
  const schema = optionsOf(experiment);
  const program = addPlaces(addOptions(command(`train ${experiment.name}`, experiment.summary), schema));
  const notes = experiment.notes ?? [];
  if (notes.length > 0) program.addHelpText("after", `\n${notes.join("\n")}`);
  program.parse(name === undefined ? args : args.slice(1), { from: "user" });
  if (resumed !== undefined && resumed.experiment !== experiment.name) {
    program.error(`error: ${resume} is a run of ${resumed.experiment}, not of ${experiment.name}`);
  }
  const chosen = chosenOptions(program, schema);
  const loaded = await loadExperiment(experiments, { ...resumed, ...chosen, experiment: experiment.name });
  return { experiment: loaded, places: program.opts(), chosen };
}

/** Default folder of runs. */
const runsFolder = "runs";

async function prepare(parsed: Parsed, fold?: number): Promise<Run> {
  const { experiment, places: { out = runsFolder, resume }, chosen } = parsed;
  if (resume !== undefined) return await prepareResumed(parsed, resume);
  const config = configOf(experiment, { ...chosen, ...(fold === undefined ? {} : { fold }) });
  return await startRun(experiment, config, out);
}

async function prepareResumed({ experiment, chosen }: Parsed, resume: string): Promise<Run> {
  const folder = runFolder(resume);
  const config = await readRunConfig(folder, [experiment]);
  if (chosen.data !== undefined) await requireOwnData(chosen.data as string);
  return await resumeRun(experiment, { ...config, ...chosen } as RunConfig, folder);
}

/**
 * Aborts on the first Ctrl-C. A second one, after at least {@linkcode interruptPause}, ends the process
 * immediately.
 */
function interruption(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  let first = 0;
  const listener = () => {
    if (controller.signal.aborted && performance.now() - first > interruptPause) Deno.exit(130);
    if (!controller.signal.aborted) first = performance.now();
    controller.abort();
  };
  Deno.addSignalListener("SIGINT", listener);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => Deno.removeSignalListener("SIGINT", listener),
  };
}

/**
 * Measures one training step, without training. Writes `profile.json` to the folder of the resumed run, or to
 * the experiment's folder of runs.
 */
async function profileTraining(parsed: Parsed): Promise<number> {
  const { experiment, places: { out = runsFolder, resume }, chosen } = parsed;
  const { config, task, device, deviceReason } = resume === undefined
    ? await prepareNew(experiment, configOf(experiment, chosen))
    : await prepareResumed(parsed, resume);
  print(`a training step of ${config.experiment} on ${device.description}`);
  if (deviceReason) print(chosenDevice(deviceReason));
  const measured = await profileStep(task, { batchSize: config.batchSize, key: key(config.seed) });
  const folder = resume ?? join(out, experiment.name);
  await makeFolder(folder);
  const file = join(folder, "profile.json");
  await writeAtomically(file, JSON.stringify(measured.trace()));
  printLines(`${measured.table()}\nopen ${file} in speedscope, Perfetto or about:tracing`);
  return 0;
}

/**
 * `deno task train`: trains a model, or resumes a run.
 *
 * @param experiments Known experiments. The first one is the default.
 * @returns The exit code: 130 after an interrupt.
 */
export async function train(args: string[], experiments: readonly Experiment[]): Promise<number> {
  if (/^(--help|-h)$/.test(args[0] ?? "")) {
    printLines(overview(experiments));
    return 0;
  }
  prepareDrivers();
  using interruptions = interruption();
  const { signal } = interruptions;
  const parsed = await parse(args, experiments);
  const { resume, profile, run, tensorboard, view } = parsed.places;
  const start = run === undefined ? undefined : await startOf(args);
  await keepPaths(await pathsOf(parsed, experiments));
  if (profile) return await profileTraining(parsed);
  if (start) return await trainOnce(parsed, start, signal);
  const { folds, fold } = parsed.chosen as { folds?: number; fold?: number };
  if (folds === undefined || fold !== undefined || resume !== undefined) {
    return await finish(await prepare(parsed), { signal, tensorboard, view }) ? 0 : 130;
  }
  const tested: Record<string, number>[] = [];
  for (let fold = 0; fold < folds; fold++) {
    print(`fold ${fold + 1} of ${folds}`);
    const summary = await finish(await prepare(parsed, fold), { signal, tensorboard });
    if (!summary) return 130;
    tested.push(summary.test);
  }
  // Folds whose test set has a single class lack the area under the curve.
  const common = Object.keys(tested[0]).filter((name) => tested.every((test) => name in test));
  const summaries = common.map((name) => [name, statistics(tested.map((test) => test[name]))] as const);
  const means = measuresInWords(Object.fromEntries(summaries.map(([name, { mean }]) => [name, mean])));
  const shown = means.map(([name, mean], i) => {
    const [metric, { standardDeviation }] = summaries[i];
    return `${name} ${mean} ± ${formatMeasure(metric, standardDeviation)}`;
  });
  print(`test of ${folds} folds ${shown.join(", ")}`);
  return 0;
}

/** This start of the command, for the folder of the run. */
async function startOf(args: readonly string[]): Promise<RunStart> {
  return {
    command: [callOf("train"), ...args.map(quoted)].join(" "),
    commit: await checkoutCommit("."),
    time: new Date().toISOString(),
  };
}

/** Paths that a training reads and writes: its data, its folder, and the code of the thread that shows it. */
async function pathsOf(
  { experiment, places, chosen }: Parsed,
  experiments: readonly Experiment[],
): Promise<KeptPaths> {
  const { out = runsFolder, run, resume, view } = places;
  const config = resume === undefined
    ? configOf(experiment, { ...(chosen.folds === undefined ? {} : { fold: 0 }), ...chosen })
    : { ...await readRunConfig(runFolder(resume), experiments), ...chosen } as RunConfig;
  const folders = [run ?? resume ?? out];
  const code = view === undefined ? [] : [viewCode];
  const written = [...folders, ...experiment.caches?.(config) ?? []];
  return { read: [...dataPaths.map((name) => config[name]), ...written, ...code], write: written };
}

/** Starts or resumes the run in the given folder, or reads its outcome if it has ended. */
async function trainOnce({ experiment, places, chosen }: Parsed, start: RunStart, signal: AbortSignal) {
  if (places.resume !== undefined || chosen.folds !== undefined) {
    throw new OptionError(
      "conflicting-options",
      (write) =>
        `${write("run")} resumes its run automatically and trains a single run; remove ${
          write("resume")
        } and ${write("folds")}`,
    );
  }
  const folder = runFolder(places.run!);
  let isTrained = false;
  const outcome = await runOnce(experiment, configOf(experiment, chosen), folder, start, (run) => {
    isTrained = true;
    const { tensorboard, view } = places;
    return finish(run, { signal, tensorboard, view, isLocked: true });
  });
  if (!outcome) return 130;
  if ("failure" in outcome) throw new Error(outcome.failure);
  if (!isTrained) print(`${folder.path} has ended: test ${measuresText(outcome.summary.test)}`);
  return 0;
}

/** The line about the device that `auto` chose. */
function chosenDevice(reason: string): string {
  return `${reason}; ${flag("device")} cpu or webgpu overrides the choice`;
}

/** Options of {@linkcode finish}. */
interface FinishOptions extends Pick<PlaceOptions, "tensorboard" | "view"> {
  readonly signal: AbortSignal;
  readonly isLocked?: boolean;
}

/** Trains and prints the result. Returns the summary, or undefined if the run was interrupted. */
async function finish(
  run: Run,
  { tensorboard, view, ...options }: FinishOptions,
): Promise<RunSummary | undefined> {
  const { config, folder, device, deviceReason } = run;
  print(
    `${config.experiment} on ${device.description}, ${
      run.resume ? "resuming in" : "writing to"
    } ${folder.path}`,
  );
  if (deviceReason) print(chosenDevice(deviceReason));
  const [first, ...others] = run.task.description ?? [];
  if (first !== undefined) print(config.data ? `${basename(config.data)}: ${first}` : first);
  for (const line of others) print(`  ${line}`);
  const hint = speedHint(device, run.task.parameters);
  if (hint) print(hint);
  await using viewed = view === undefined
    ? undefined
    : await startViewThread(folder.path, view === true ? undefined : view);
  if (viewed) print(`view ${viewed.url}`);
  const { end, ...display } = progressDisplay();
  using log = tensorboard && tensorBoardLog(folder);
  try {
    const { interrupted, position, summary } = await execute(run, {
      ...{ ...display, ...options, showsExamples: viewed !== undefined },
      onPlan: print,
      onLoss: log?.onLoss,
      onEpoch(metrics) {
        display.onEpoch(metrics);
        log?.onEpoch(metrics);
      },
    });
    if (interrupted) {
      end();
      print(
        `stopped in epoch ${position.epoch + 1} after ${position.step} steps; resume with ` +
          `${callOf("train")} --resume ${folder.path}`,
      );
      return undefined;
    }
    const { test, baselines = {}, verdict, warnings = [], bestEpoch, seconds } = summary!;
    log?.test(test, position.step);
    print(`test ${measuresText(test)}  best epoch ${bestEpoch}, ${formatDuration(seconds)}`);
    for (const [name, measures] of Object.entries(baselines)) {
      print(`${name}: ${measuresText(measures)}`);
    }
    if (verdict !== undefined) print(verdict);
    for (const warning of warnings) printError(`warning: ${warning}`);
    print(`report ${folder.report}`);
    if (log) print(`tensorboard --logdir ${quoted(folder.path)}`);
    return summary;
  } finally {
    end();
  }
}
