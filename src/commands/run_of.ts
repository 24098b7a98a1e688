/** The run that a command was given. */
import { Option } from "commander";
import { OptionError } from "../device/errors.ts";
import { absolutePath, readTextIfPresent } from "../files/disk.ts";
import { isRecord, parseJson } from "../files/json.ts";
import { readRunConfig, type RunConfig } from "../train/run/config.ts";
import { isModelFile } from "../series/models/model_file.ts";
import { type Experiment, loadExperiment } from "../train/experiment.ts";
import { findRun, type RunFolder } from "../train/run/run_folder.ts";

/** Known experiments, or a function that loads those that a run may need. */
export type ExperimentSource =
  | readonly Experiment[]
  /** @param name Name of the run's experiment; undefined if the run has none. */
  | ((name?: string) => Promise<readonly Experiment[]>);

/** A run with its configuration and experiment. */
interface ConfiguredRun {
  readonly folder: RunFolder;
  readonly config: RunConfig;
  readonly experiment: Experiment;
}

/** The option for a run whose model is a file. */
export function modelFileOption(): Option {
  return new Option(
    "--model <file>",
    "the file of the model, for a run that was trained with one; its code runs",
  );
}

/**
 * Finds a run from the command line.
 *
 * @param path Folder of a run, or of several runs.
 * @param model The file of the run's model. The configuration alone is no permission to run it: a run may be of somebody else.
 * @throws {WeftError} If there is no run, the run is damaged, the program lacks its experiment, or the file of its model is not
 * given.
 */
export async function runOf(
  path: string,
  experimentSource: ExperimentSource,
  model?: string,
): Promise<ConfiguredRun> {
  const folder = await findRun(path);
  const content = parseJson(await readTextIfPresent(folder.config) ?? "");
  const name = isRecord(content) && typeof content.experiment === "string" ? content.experiment : undefined;
  const experiments = typeof experimentSource === "function"
    ? await experimentSource(name)
    : experimentSource;
  const config = await readRunConfig(folder, experiments);
  const file = isModelFile(config.model) ? config.model : undefined;
  if (file !== (model === undefined ? undefined : absolutePath(model))) {
    throw new OptionError(
      file === undefined ? "unusable-option" : "missing-option",
      (write) =>
        file === undefined
          ? `the model of this run is not a file: leave out ${write("model")}`
          : `the model of this run is the file ${file}: if you trust its code, give it with ${
            write("model")
          }`,
      { option: "model" },
    );
  }
  return { folder, config, experiment: await loadExperiment(experiments, config) };
}
