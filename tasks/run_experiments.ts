/** The experiment of a run. The experiments of the papers are loaded only for their runs. */
import type { ModelExperiment } from "../src/series/models/model_settings.ts";
import { ownSeries } from "../src/series/run/own_series.ts";

/** Not a literal at the import: Deno would load the papers for every command. */
const papers = "./papers/experiments/registry.ts";

/** Experiments among which a run's experiment is. @param name Name of the run's experiment. */
export async function experimentsOfRun(name?: string): Promise<readonly ModelExperiment[]> {
  if (name === ownSeries.name) return [ownSeries];
  const { paperExperiments }: { paperExperiments: readonly ModelExperiment[] } = await import(papers);
  return [ownSeries, ...paperExperiments];
}
