/** Problems with labelled series, and their settings. */
import type { Scaling } from "../../data/scaling.ts";
import type { Series, SeriesSet } from "../../data/series.ts";
import type { ReadOptions, TableOptions } from "../../data/table/options.ts";
import type { TableSource } from "../../data/table/source.ts";
import { type Key, key, splitKey } from "../../tensor/random.ts";
import type { ModelExperiment, ModelRules } from "../models/model_settings.ts";
import { neuralModels } from "../models/neural/neural_models.ts";
import type { SeriesNetworkOptions } from "../models/series_network.ts";
import type { DataRecord } from "../record/data_record.ts";
import type { TargetKind } from "../record/series_source.ts";
import type { SeriesSettings } from "../record/settings.ts";
import type { ClassificationOptions } from "../targets/classification.ts";
import type { ClassificationRules } from "../targets/classifier.ts";

/** Options of {@linkcode seriesExperiment}: a problem with labelled series. */
export interface SeriesProblem<Settings extends SeriesSettings = SeriesSettings>
  extends
    Pick<ModelExperiment, "name" | "summary" | "options">,
    Pick<SeriesNetworkOptions, "width" | "depth" | "method" | "staticWidth" | "models"> {
  /** Reads or generates the series. */
  make(settings: Settings, seed: Key, earlier?: DataRecord): Promise<SeriesSet> | SeriesSet;
  /** Reads other series of the same kind. */
  read(
    source: TableSource,
    options: TableOptions & ReadOptions & { targets: TargetKind },
    settings: Settings,
  ): Promise<SeriesSet>;
  /** Factor of the times in the time channel. */
  timeScale(set: SeriesSet): number;
  /** Defaults that depend on chosen options. */
  defaultsFor?: ModelRules<Settings>["defaultsFor"];
  /** Training rules of a classifier; those for users' own series by default. */
  rules?: (settings: Settings) => ClassificationRules;
  /**
   * Seed of data, split and dropped observations if `dataSeed` is not set; by default, the seed of the run.
   */
  dataSeed?: (settings: Settings) => number;
  /** Random keys of a run. By default three are split from the seed, and the data use the seed itself. */
  keys?: (seed: Key) => SeriesKeys;
  /** Scaling of the channels; by default that of the settings. */
  scaling?: (settings: Settings) => Scaling | "none" | undefined;
  /** How models that read observations fill missing values; `"hold"` by default. */
  fill?: (settings: Settings) => "hold" | "spline";
  /** Curves of a scaled series for a report; by default its channels over time. */
  draw?: (
    series: Series,
    record: Pick<DataRecord, "channels" | "time">,
  ) => ReturnType<ClassificationOptions["draw"]>;
}

/** Random keys of a run. */
export interface SeriesKeys {
  /** Key of generated series. */
  data: Key;
  /** Key of the split into parts. */
  split: Key;
  /** Key of the choice of dropped observations. */
  drop: Key;
  /** Key of the initial parameters. */
  model: Key;
}

/** Model of runs whose configuration names none. */
export const defaultModel = "neural-cde";

/** Models of a problem, by name. */
export function kindsOf({ models }: Pick<SeriesProblem, "models">): NonNullable<SeriesProblem["models"]> {
  return models ?? neuralModels;
}

/** Sizes and defaults of the models of a problem. */
export function sizesOf<Settings extends SeriesSettings>(
  problem: SeriesProblem<Settings>,
  settings: Settings,
) {
  const { width, depth, method, staticWidth, models, fill } = problem;
  return { width, depth, method, staticWidth, models, fill: fill?.(settings) };
}

/**
 * Whether the series are those of a user's table. Experiments of papers have rules. Tables of users have none: their
 * channels, lengths and downsampling are found in the data.
 */
export function isOfUser({ rules }: { readonly rules?: unknown }): boolean {
  return rules === undefined;
}

/** Random keys of a run with a seed. */
export function keysOf({ keys = threeKeys }: Pick<SeriesProblem, "keys">, seed: number): SeriesKeys {
  return keys(key(seed));
}

function threeKeys(seed: Key): SeriesKeys {
  const [split, drop, model] = splitKey(seed, 3);
  return { data: seed, split, drop, model };
}

/** Kind of target of a task. */
export function targetsOf({ task = "classify" }: Pick<SeriesSettings, "task">): TargetKind {
  return ({ classify: "classes", regress: "numbers", forecast: "channels" } as const)[task];
}
