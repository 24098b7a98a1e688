/** The experiments of the commands: the user's own series, and the papers' experiments. */
import type { ModelExperiment } from "../src/series/models/model_settings.ts";
import { ownSeries } from "../src/series/run/own_series.ts";
import { paperExperiments } from "./papers/experiments/registry.ts";

const [spirals, ...others] = paperExperiments;

/** Every experiment of `deno task train`. The first is the default. */
export const experiments: readonly ModelExperiment[] = [spirals, ownSeries, ...others];
