import { basename, join } from "node:path";
import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import {
  changeable,
  describeRecord,
  execute,
  type Experiment,
  experimentNamed,
  experiments,
  flag,
  forecastModels,
  formatMeasure,
  formatSeconds,
  modelsThatRead,
  profileStep,
  readRunConfig,
  recipes,
  resumeRun,
  type Run,
  type RunConfig,
  runFolder,
  type RunSummary,
  settingBounds,
  type Settings,
  startRun,
  taskKinds,
} from "../src/train/mod.ts";
import {
  callOf,
  command,
  deviceOption,
  main,
  number,
  path,
  prepareDrivers,
  quoted,
  requireOwnData,
} from "./command.ts";
import { numberOf } from "../src/data/format.ts";
import { checkoutCommit } from "../src/files/commit.ts";
import { key } from "../src/tensor/random.ts";
import { measuresText, progressDisplay } from "./progress.ts";
import { addTableFlags, splitTable } from "./table_flags.ts";
import { type Horizon, horizonForms, isHorizon } from "../src/train/experiments/horizon.ts";
import { refuseUnread } from "../src/train/experiments/experiment.ts";
import { kindNamed } from "../src/train/experiments/model_kind.ts";
import { runOnce } from "../src/train/run_once.ts";
import { statistics } from "../src/train/statistics.ts";

type Options = Partial<Settings> & {
  device: RunConfig["device"];
  blas?: string;
  seed: number;
  out: string;
  run?: string;
  resume?: string;
  profile?: true;
};

/** Milliseconds after which a second interrupt is not an echo of the first. */
const echo = 500;

function parse(args: string[]): { program: Command; name?: string; options: Options } {
  const defaults = experiments.map(({ name, summary, defaults, takes }) => {
    const { epochs, batchSize, learningRate, hidden } = defaults;
    const values =
      `--epochs ${epochs} --batch-size ${batchSize} --learning-rate ${learningRate} --hidden ${hidden}`;
    const special = takes.filter((setting) => setting !== "table" && setting !== "fold").map((setting) =>
      `${flag(setting)} ${defaults[setting] ?? ""}`.trimEnd()
    );
    return `  ${name}\n    ${summary}\n    ${values}\n    ${special.join(" ")}`;
  });
  const program = command(
    "train",
    "Trains a model; the run's folder gets its checkpoints, metrics and report.",
  )
    .addArgument(
      new Argument("[experiment]", `what to train (default: "${experiments[0].name}")`)
        .choices(experiments.map(({ name }) => name)),
    )
    .addOption(deviceOption())
    .option(
      "--blas <library>",
      "native library for large matrix products on the CPU: its path, or auto for what is installed; takes --allow-ffi",
    )
    .option(
      "--seed <number>",
      "decides data, initial parameters and order",
      number(settingBounds.seed),
      0,
    )
    .option("--data <path>", "table, zip file or folder of real data", path)
    .option(
      "--model <name>",
      `of an experiment that classifies, along splines: ${
        modelsThatRead("spline").join(", ")
      }; along windows: ${modelsThatRead("windows").join(", ")}; row by row: ${
        modelsThatRead("observations").join(", ")
      }; of one that continues series: ${Object.keys(forecastModels).join(", ")}`,
    )
    .option("--method <name>", "how the solver steps: rk4 (the default), midpoint, euler, ...")
    .addOption(
      new Option("--recipe <name>", "how a model learns: short, or as its paper")
        .choices(recipes),
    )
    .addOption(
      new Option("--task <name>", "what to answer about series of your own").choices(taskKinds),
    )
    .option("--horizon <steps>", "how far a forecast goes: 24, or in time, as 36h or 2d", horizon)
    .option("--intensity", "the model reads how often each channel was observed, beside its values")
    .option("--balance", "each class counts alike in the loss, however many series it has")
    .option("--online", "read series as they come, so that the model can predict while they do")
    .option("--smooth", "forecast by means where training samples")
    .addOption(
      new Option("--scaling <name>", "of channels: robust is not moved by outliers").choices([
        "standard",
        "robust",
      ]),
    )
    .option("--out <folder>", "where runs are written", path, "runs")
    .option(
      "--run <folder>",
      "the run's own folder: begins there, goes on there, or is done if it has ended",
      path,
    )
    .option("--resume <run>", "folder of a run to go on with, as if it had not stopped", path)
    .addOption(
      new Option(
        "--profile",
        "measure a training step and its parts instead: a table, and profile.json for a viewer",
      ).conflicts(["run", "folds"]),
    );
  for (const [name, { description, ...bounds }] of Object.entries(settingBounds)) {
    if (description) program.option(`${flag(name)} <number>`, description, number(bounds));
  }
  addTableFlags(program)
    .addHelpText(
      "after",
      `\nExperiments, with the options that they take and their defaults:\n${defaults.join("\n")}`,
    )
    .parse(args, { from: "user" });
  return { program, name: program.processedArgs[0], options: program.opts() };
}

/** A reader of horizons, for an option. */
function horizon(text: string): Horizon {
  const steps = numberOf(text.trim());
  const value = Number.isNaN(steps) ? text.trim() : steps;
  if (!isHorizon(value)) throw new InvalidArgumentError(`Expected a ${horizonForms}.`);
  return value;
}

/** The configuration that the command line gives a new run. */
function configOf(name: string | undefined, options: Options, fold?: number): RunConfig {
  const { device, seed, out: _, run: __, resume: ___, profile: ____, ...settings } = options;
  const { table, others } = splitTable(settings);
  const chosen: Partial<Settings> = { ...others, ...(Object.keys(table).length > 0 ? { table } : {}) };
  const experiment = experimentNamed(name ?? experiments[0].name);
  const ofTask: Experiment["defaults"] = {
    ...experiment.defaults,
    ...(chosen.task && experiment.taskDefaults?.[chosen.task]),
  };
  const { takes, defaults: ofModel } = kindNamed(
    experiment.models(chosen.task),
    chosen.model ?? ofTask.model!,
  );
  const defaults = { ...ofTask, ...ofModel };
  const config: RunConfig = {
    ...{ experiment: experiment.name, device, seed, ...defaults },
    ...chosen,
    ...(fold === undefined ? {} : { fold }),
  };
  if (config.hidden !== defaults.hidden && !takes.includes("hidden")) {
    refuseUnread(experiment, config, ["hidden"]);
  }
  return config;
}

async function prepare(
  { program, name, options }: ReturnType<typeof parse>,
  fold?: number,
): Promise<Run> {
  const { out, resume } = options;
  if (resume === undefined) return await startRun(configOf(name, options, fold), out);
  const given = Object.keys(options).filter((option) => program.getOptionValueSource(option) === "cli");
  const fixed = given.find((option) => ![...changeable, "resume", "profile"].includes(option));
  if (fixed) {
    program.error(
      `error: ${
        flag(fixed)
      } cannot change when a run goes on; only --epochs, --device, --blas and --data can`,
    );
  }
  const folder = runFolder(resume);
  const config = await readRunConfig(folder);
  if (name !== undefined && name !== config.experiment) {
    program.error(`error: ${folder.path} is a run of ${config.experiment}, not of ${name}`);
  }
  const changed = Object.fromEntries(
    given.filter((option) => changeable.includes(option as keyof RunConfig)).map((
      o,
    ) => [o, program.opts()[o]]),
  );
  if (changed.data !== undefined) await requireOwnData(changed.data);
  return await resumeRun({ ...config, ...changed }, folder);
}

/** Aborts at the first Ctrl-C; the second, when it comes later, ends the process at once. */
function interruption(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  let first = 0;
  const listener = () => {
    if (controller.signal.aborted && performance.now() - first > echo) Deno.exit(130);
    if (!controller.signal.aborted) first = performance.now();
    controller.abort();
  };
  Deno.addSignalListener("SIGINT", listener);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => Deno.removeSignalListener("SIGINT", listener),
  };
}

/** Measures a step of a run's training, which does not begin. */
async function profileRun({ config, folder, task, device }: Run): Promise<number> {
  console.log(`a training step of ${config.experiment} on ${device.description}`);
  const measured = await profileStep(task, { batchSize: config.batchSize, key: key(config.seed) });
  const file = join(folder.path, "profile.json");
  await Deno.writeTextFile(file, JSON.stringify(measured.trace()));
  console.log(`${measured.table()}\nopen ${file} in speedscope, Perfetto or about:tracing`);
  return 0;
}

/** `deno task train`. */
export async function train(args: string[]): Promise<number> {
  prepareDrivers();
  using interruptions = interruption();
  const { signal } = interruptions;
  const parsed = parse(args);
  const { folds, resume, profile } = parsed.options;
  if (profile) return await profileRun(await prepare(parsed));
  if (parsed.options.run !== undefined) return await makeOnce(parsed, args, signal);
  if (folds === undefined || resume !== undefined) {
    return await finish(await prepare(parsed), signal) ? 0 : 130;
  }
  const tested: Record<string, number>[] = [];
  for (let fold = 0; fold < folds; fold++) {
    console.log(`fold ${fold + 1} of ${folds}`);
    const summary = await finish(await prepare(parsed, fold), signal);
    if (!summary) return 130;
    tested.push(summary.test);
  }
  // A fold that tests series of one class has no area under a curve.
  const common = Object.keys(tested[0]).filter((name) => tested.every((test) => name in test));
  const means = common.map((name) => {
    const { mean, deviation } = statistics(tested.map((test) => test[name]));
    return `${name} ${formatMeasure(name, mean)} ± ${formatMeasure(name, deviation)}`;
  });
  console.log(`test of ${folds} folds ${means.join(", ")}`);
  return 0;
}

/** Makes a run in the folder that is named, unless it has been made there. */
async function makeOnce(
  { program, name, options }: ReturnType<typeof parse>,
  args: string[],
  signal: AbortSignal,
) {
  if (options.resume !== undefined || options.folds !== undefined) {
    program.error("error: --run goes on by itself, and is a single run: leave out --resume and --folds");
  }
  const folder = runFolder(options.run!);
  const start = {
    command: ["deno task train", ...args.map(quoted)].join(" "),
    commit: await checkoutCommit("."),
    time: new Date().toISOString(),
  };
  let isMade = false;
  const made = await runOnce(configOf(name, options), folder, start, (run) => {
    isMade = true;
    return finish(run, signal, true);
  });
  if (!made) return 130;
  if ("failure" in made) throw new Error(made.failure);
  if (!isMade) console.log(`${folder.path} has ended: test ${measuresText(made.summary.test)}`);
  return 0;
}

/** Trains, says how it went, and returns the summary of a run that was not interrupted. */
async function finish(run: Run, signal: AbortSignal, isLocked = false): Promise<RunSummary | undefined> {
  const { config, folder, device } = run;
  console.log(
    `${config.experiment} on ${device.description}, ${
      run.resume ? "going on in" : "writing to"
    } ${folder.path}`,
  );
  const { record, description = [] } = run.task;
  if (config.data && record) console.log(`${basename(config.data)}: ${describeRecord(record)}`);
  for (const line of description) console.log(`  ${line}`);
  const display = progressDisplay(config.epochs);
  try {
    const { interrupted, position, summary } = await execute(run, {
      onEpoch: display.onEpoch,
      onProgress: display.onProgress,
      signal,
      isLocked,
    });
    if (interrupted) {
      display.end();
      console.log(
        `stopped in epoch ${position.epoch + 1} after ${position.step} steps; go on with ` +
          `${callOf("train")} --resume ${folder.path}`,
      );
      return undefined;
    }
    const { test, baselines = {}, bestEpoch, seconds } = summary!;
    console.log(`test ${measuresText(test)}  best epoch ${bestEpoch}, ${formatSeconds(seconds)}`);
    for (const [name, measures] of Object.entries(baselines)) {
      console.log(`${name}: ${measuresText(measures)}`);
    }
    console.log(`report ${folder.report}`);
    return summary;
  } finally {
    display.end();
  }
}

if (import.meta.main) await main(train);
