/** The run that a command was given. */
import { readTextIfPresent } from "../files/disk.ts";
import { isRecord, parseJson } from "../files/json.ts";
import { readRunConfig, type RunConfig } from "../train/run/config.ts";
import { type Experiment, loadExperiment } from "../train/experiment.ts";
import { findRun, type RunFolder } from "../train/run/run_folder.ts";

/** Known experiments, or a function that loads those that a run may need. */
export type KnownExperiments =
  | readonly Experiment[]
  /** @param name Name of the run's experiment; undefined if the run has none. */
  | ((name?: string) => Promise<readonly Experiment[]>);

/** A run with its configuration and experiment. */
interface GivenRun {
  readonly folder: RunFolder;
  readonly config: RunConfig;
  readonly experiment: Experiment;
}

/**
 * Finds a run from the command line.
 *
 * @param path Folder of a run, or of several runs.
 * @throws {WeftError} If there is no run, the run is damaged, or the program lacks its experiment.
 */
export async function runOf(path: string, known: KnownExperiments): Promise<GivenRun> {
  const folder = await findRun(path);
  const content = parseJson(await readTextIfPresent(folder.config) ?? "");
  const name = isRecord(content) && typeof content.experiment === "string" ? content.experiment : undefined;
  const experiments = typeof known === "function" ? await known(name) : known;
  const config = await readRunConfig(folder, experiments);
  return { folder, config, experiment: await loadExperiment(experiments, config) };
}
