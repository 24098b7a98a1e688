/** The experiments of the commands: users' own series, and those of the papers. */
import type { ModelExperiment } from "../src/series/model_kind.ts";
import { ownSeries } from "../src/series/own_series.ts";
import { paperExperiments } from "./papers/experiments/registry.ts";

const [spirals, ...others] = paperExperiments;

/** Every experiment of `deno task train`; the first is the default. */
export const experiments: readonly ModelExperiment[] = [spirals, ownSeries, ...others];
