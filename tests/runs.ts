/** Runs of the experiments of `deno task train`, by the names in their configurations. */
import { experiments } from "../tasks/experiments.ts";
import type { DataRecord } from "../src/series/record/data_record.ts";
import type { ModelExperiment } from "../src/series/models/model_settings.ts";
import type { TrainedModel } from "../src/series/models/trained_model.ts";
import { readRunConfig as readConfig, type RunConfig } from "../src/train/run/config.ts";
import { experimentNamed as find } from "../src/train/experiment.ts";
import { defaultsOf } from "../src/train/option.ts";
import { openRun as open, resumeRun as resume, type Run, startRun as start } from "../src/train/run/run.ts";
import type { RunFolder } from "../src/train/run/run_folder.ts";
import { runOnce as makeOnce } from "../src/commands/run_once.ts";
import { openBest, type TrainedRun } from "../src/train/run/trained_run.ts";

export { experiments };

/** An experiment of the commands, by name. */
export function experimentNamed(name: string): ModelExperiment {
  return find(experiments, name) as ModelExperiment;
}

/** Settings of an experiment that does not depend on a seed. */
// deno-lint-ignore no-explicit-any
export function defaultSettings(name: string): any {
  return defaultsOf(experimentNamed(name).options);
}

/** {@linkcode readConfig} of a run of any experiment. */
export function readRunConfig(folder: RunFolder): Promise<RunConfig> {
  return readConfig(folder, experiments);
}

/** {@linkcode start} for the experiment of a configuration. */
export function startRun(config: RunConfig, place: string | RunFolder): Promise<Run> {
  return start(experimentNamed(config.experiment), config, place);
}

/** {@linkcode resume} for the experiment of a configuration. */
export function resumeRun(config: RunConfig, folder: RunFolder): Promise<Run> {
  return resume(experimentNamed(config.experiment), config, folder);
}

/** {@linkcode open} for the experiment of a configuration. */
export function openRun(
  config: RunConfig,
  folder: RunFolder,
  weights?: string,
): Promise<Omit<Run, "resume">> {
  return open(experimentNamed(config.experiment), config, folder, weights);
}

/** {@linkcode openBest} for the experiment of a configuration. */
export function openTrained(
  config: RunConfig,
  folder: RunFolder,
): Promise<TrainedRun<TrainedModel, DataRecord>> {
  return openBest(experimentNamed(config.experiment), config, folder);
}

/** {@linkcode makeOnce} for the experiment of a configuration. */
export function runOnce(
  config: RunConfig,
  ...rest: Parameters<typeof makeOnce> extends [unknown, unknown, ...infer Rest] ? Rest : never
): ReturnType<typeof makeOnce> {
  return makeOnce(experimentNamed(config.experiment), config, ...rest);
}
