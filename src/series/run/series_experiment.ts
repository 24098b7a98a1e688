/** Experiments on whole series: classes or numbers, by one model or by the best of several. */
import { largest } from "../../device/min_max.ts";
import type { Scaling } from "../../data/scaling.ts";
import { dropObservations, mapSplits, type Series, type SeriesSet } from "../../data/series.ts";
import { describeSeries, noticesOf } from "../../data/table/describe.ts";
import type { ReadOptions, TableOptions } from "../../data/table/options.ts";
import { foldIn, type Key, key, splitKey } from "../../tensor/random.ts";
import {
  checkDataRecord,
  countSeen,
  type DataRecord,
  describeRecord,
  type RecordedSeries,
  recordVersion,
  requireSame,
} from "../record/data_record.ts";
import type { RecordedTraining } from "../record/recorded_training.ts";
import type { Task } from "../../train/task.ts";
import { parameterCount } from "../../nn/layer.ts";
import type { TrainedModel } from "../models/trained_model.ts";
import {
  classification,
  type ClassificationOptions,
  type ClassificationRules,
  type Classifier,
  classifier,
} from "../targets/classification.ts";
import { countLabels } from "../math/class_counts.ts";
import { condense, condensingOf, describeCondensing } from "../models/condense.ts";
import type { CandidateProblem } from "../choose/cross_validation.ts";
import type { SeriesTask } from "../targets/score.ts";
import { rangesOf } from "../targets/learned_ranges.ts";
import { fitSummary } from "../targets/fit_summary.ts";
import { drawChannels } from "../targets/draw_channels.ts";
import { splitSeries } from "../read/split_series.ts";
import { paceFor } from "../models/pace.ts";
import { trainingMemory } from "../targets/learning.ts";
import { isPlanned } from "../choose/is_planned.ts";
import { autoModel, candidatesIn, choiceOf, modelCandidates, withChosen } from "../choose/auto.ts";
import { withComparison } from "../choose/comparison_report.ts";
import { fitSeconds, stepSeconds } from "../choose/work.ts";
import { regression, type Regressor, regressor } from "../targets/regression.ts";
import type { SeriesSource, TargetKind } from "../record/series_source.ts";
import type { TableSource } from "../../data/table/read_table.ts";
import { type SeriesSettings, sourcesOf } from "../record/settings.ts";
import {
  kindNamed,
  type ModelExperiment,
  type ModelRules,
  modelRules,
  withoutEffect,
} from "../models/model_settings.ts";
import type { SeriesNetworkOptions } from "../models/series_network.ts";
import { neuralModels } from "../models/neural_models.ts";
import { onGrid, recordClock } from "../read/time_grid.ts";
import {
  inRecordedOrder,
  ownChannels,
  recordSeries,
  recordTargets,
  recordTimes,
  requireValues,
  scaledChannels,
  tableOptions,
  withRecordedClasses,
  withTargets,
} from "../read/recorded_series.ts";

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

/** Makes an experiment that predicts a class or numbers of each series. The split is 70 % training, 15 % validation and 15 % test. */
export function seriesExperiment<Settings extends SeriesSettings>(
  problem: SeriesProblem<Settings>,
): ModelExperiment<Settings> {
  const { name, summary, options, width, depth, method, staticWidth, models, rules } = problem;
  const { keys: keysOf = threeKeys, draw = drawChannels, dataSeed = ({ seed }) => seed } = problem;
  // Experiments of papers have rules. Tables of users have none: their channels, lengths and downsampling are found in the data.
  const isOwnData = rules === undefined;
  const sizesOf = (settings: Settings) => ({
    ...{ width, depth, method, staticWidth, models },
    fill: problem.fill?.(settings),
  });
  return modelRules({
    name,
    summary,
    options,
    models: () => models ?? neuralModels,
    checkRecord: checkDataRecord,
    async prepare(settings: Settings, earlier?: DataRecord): Promise<Task> {
      const dataKey = key(settings.dataSeed ?? dataSeed(settings));
      const keys = { ...keysOf(dataKey), model: keysOf(key(settings.seed)).model };
      const made = await problem.make(settings, keys.data, earlier);
      requireValues(made);
      const set = earlier ? await asRecorded(made, earlier) : made;
      const split = earlier?.split ?? await splitSeries(set, keys.split, settings);
      const dropped = dropObservations(set, settings.drop ?? 0, keys.drop);
      const seriesOf = (part: readonly RecordedSeries[]) =>
        part.map(({ position }) => dropped.series[position]);
      const kinds = models ?? neuralModels;
      const learnedFrom = seriesOf(split.train);
      const isBinary = set.classes.length === 2 && settings.positiveWeight !== undefined;
      /** Linear models by the series and the channels that they were fitted to: cross-validation asks for each repeatedly. */
      const linearModels = new Map<string, DataRecord["linear"]>();
      const linearFor = (train: readonly RecordedSeries[], record: Parameters<typeof fitSummary>[1]) => {
        const known = `${JSON.stringify(record.channels)} ${train.map(({ position }) => position)}`;
        if (!linearModels.has(known)) linearModels.set(known, fitSummary(seriesOf(train), record, isBinary));
        return linearModels.get(known);
      };
      const recordOf = async (
        given: Settings,
        split: DataRecord["split"],
        training: RecordedTraining,
      ): Promise<DataRecord> => {
        const settings = withChosen(given, training);
        const kind = kindNamed(kinds, settings.model ?? "neural-cde");
        const condensing = isOwnData ? condensingOf(kind, settings, learnedFrom) : undefined;
        const blockRows = condensing?.by === "means" ? condensing.rows : 1;
        // The statistics are those of the rows that the model reads.
        const time = (isOwnData ? recordClock : recordTimes)(set, problem.timeScale(set));
        const train = seriesOf(split.train).map((one) =>
          condense(onGrid(one, time.grid), set.channels.length, blockRows)
        );
        const channels = isOwnData
          ? ownChannels(set, train, settings)
          : scaledChannels(set, train, settings, problem.scaling?.(settings));
        const targets = set.targets && settings.task === "regress"
          ? recordTargets(train, set.targets)
          : undefined;
        const linear = !isOwnData || !("reads" in kind)
          ? undefined
          : linearFor(split.train, { channels, time, classes: set.classes, targets });
        const pace = isOwnData
          ? await paceFor(kind, train, { channels, time, condensing }, settings)
          : undefined;
        return {
          version: recordVersion,
          channels,
          ...(targets ? { targets } : {}),
          time,
          length: largest(set.series.map((one) => onGrid(one, time.grid).times.length)),
          classes: set.classes,
          ...(settings.balance ? { counts: countLabels(train, set.classes.length) } : {}),
          ...(condensing ? { condensing } : {}),
          ...(isOwnData ? { training, pace } : {}),
          ...(linear ? { linear } : {}),
          split,
          ignored: set.ignored ?? [],
          ...(set.columns ? { columns: set.columns } : {}),
          ...(isOwnData
            ? { ranges: rangesOf({ channels, targets }, seriesOf([...split.train, ...split.validation])) }
            : {}),
        };
      };
      const taskOf = (given: Settings, record: DataRecord): SeriesTask => {
        const settings = withChosen(given, record.training);
        const options = {
          record,
          splits: mapSplits(record.split, seriesOf),
          settings,
          key: keys.model,
          ...sizesOf(settings),
        };
        const task = settings.task === "regress" ? regression(options) as SeriesTask : classification({
          ...options,
          rules: rules?.(settings),
          draw: (series) => draw(series, record),
        }) as SeriesTask;
        const kind = kindNamed(kinds, settings.model ?? "neural-cde");
        const unused = withoutEffect(kind, task.fit !== undefined);
        return withComparison({ ...task, unused }, record.training);
      };
      /** The task with the texts about its data. */
      const described = (task: SeriesTask, isChosen = true): Task => {
        const steps = isChosen ? describeCondensing(task.record.condensing, set.series) : undefined;
        return {
          ...task,
          description: [
            ...(sourcesOf(settings).data === undefined
              ? []
              : [describeRecord(task.record), ...describeSeries(set)]),
            ...(steps ? [steps] : []),
          ],
          ...(set.notices ? { notices: set.notices } : {}),
          ...(steps ? { chosen: { ...task.chosen, steps } } : {}),
          testSize: `${split.test.length} of ${set.series.length} series`,
        };
      };
      const isAuto = settings.model === autoModel;
      const record = earlier ?? await recordOf(settings, split, {
        ensemble: settings.ensemble ?? 1,
        // Until a model is chosen, one that is trained with gradients stands in for the choice.
        ...(isAuto ? { chosen: choiceOf(kinds, standInOf(kinds)) } : {}),
      });
      const task = described(taskOf(settings, record), !isAuto || earlier !== undefined);
      const isSmall = isPlanned(settings, task, record);
      const { search } = settings;
      const isCompared = isAuto || search !== undefined;
      if (!isOwnData || earlier || !isCompared && !isSmall) return task;
      return {
        ...task,
        async plan(options) {
          const learned = [...split.train, ...split.validation];
          const problem: CandidateProblem<Settings> = {
            series: seriesOf(learned),
            classes: settings.task === "regress" ? 0 : set.classes.length,
            async task(settings, parts, steps) {
              const learnedParts = mapSplits(parts, (places) => places.map((place) => learned[place]));
              const training = { ensemble: 1, found: { steps, temperature: 1 } };
              return taskOf(settings, await recordOf(settings, learnedParts, training));
            },
            async seconds(settings, steps) {
              const kind = kindNamed(kinds, settings.model!);
              const { length: rows, channels } = record;
              if ("network" in kind) {
                const outputs = record.targets?.length ?? record.classes.length;
                return fitSeconds(kind, {
                  samples: learned.length,
                  rows,
                  channels: channels.length,
                  outputs,
                });
              }
              // The number of parameters does not depend on the series that the model learns from.
              const one = learned.slice(0, 1);
              const split = { train: one, validation: one, test: one };
              const trial = await recordOf(settings, split, { ensemble: 1 });
              return steps * stepSeconds({
                parameters: parameterCount(taskOf(settings, trial).parameters),
                batchSize: settings.batchSize,
                rows: Math.ceil(rows / (trial.condensing?.rows ?? 1)),
              });
            },
          };
          const { planModel, planTraining } = await import("../choose/plan.ts");
          const { searchCandidates } = await import("../choose/search.ts");
          const candidates = search === undefined ? modelCandidates(kinds, settings) : searchCandidates(
            settings,
            kindNamed(kinds, settings.model!),
            search,
            foldIn(key(settings.seed), 2),
          );
          const found = isCompared
            ? await planModel({ problem, settings, candidates, split, isSmall, ...options })
            : await planTraining(problem, settings, { ...options, isClosedForm: task.fit !== undefined });
          if (!found) return undefined;
          const isRefit = found.found !== undefined && isSmall;
          const final = isRefit ? { ...split, train: learned, validation: [] } : split;
          const planned = described(taskOf(settings, await recordOf(settings, final, found)));
          if (isAuto && planned.chosen?.steps) options.onLine?.(planned.chosen.steps);
          return planned;
        },
      };
    },
    open(given: Settings, record: DataRecord): TrainedModel {
      const settings = withChosen(given, record.training);
      const options = { record, settings, key: keysOf(key(settings.seed)).model, ...sizesOf(settings) };
      const model: Classifier | Regressor = settings.task === "regress"
        ? regressor(options)
        : classifier({ ...options, rules: rules?.(settings) });
      const conform = (set: SeriesSet) => requireValues(inRecordedOrder(set, record));
      const targetKind = targetsOf(settings);
      const read = async (source: SeriesSource, targets: TargetKind, table?: TableOptions) =>
        // The source is only a set of series if `problem` is that of users' own series, whose `read` accepts sets.
        conform(
          await problem.read(
            source as TableSource,
            { ...tableOptions(settings, record, table), targets },
            settings,
          ),
        );
      const truthOf = async (source: SeriesSource, table?: TableOptions) => {
        const set = await read(source, targetKind, table);
        return record.targets ? withTargets(set, record.targets) : withRecordedClasses(set, record);
      };
      return {
        parameters: model.parameters,
        evaluate: model.evaluate,
        scores: model.scores,
        weights: model.weights,
        ...(isOwnData ? { memory: trainingMemory } : {}),
        onLoad: model.onLoad,
        async samples(source, table) {
          const set = await truthOf(source, table);
          return {
            batches: model.toGroups(set.series),
            count: set.series.length,
            seen: countSeen(
              await recordSeries(set),
              record,
              model.fit ? ["train", "validation"] : ["train"],
            ),
            kind: "series",
            notices: noticesOf(set),
            evaluatePredictions: () => model.evaluatePredictions(set.series),
          };
        },
        useCalibration: model.useCalibration,
        conform,
        series: (source, table) => read(source, "none", table),
        predict: ({ series }) => model.predict(series),
        stream: model.stream,
      };
    },
  }, { defaultsFor: problem.defaultsFor });
}

/** Kind of target of a task. */
export function targetsOf({ task = "classify" }: Pick<SeriesSettings, "task">): TargetKind {
  return ({ classify: "classes", regress: "numbers", forecast: "channels" } as const)[task];
}

/** The first candidate that is trained with gradients, or the first one. */
function standInOf(kinds: NonNullable<SeriesProblem["models"]>): string {
  const names = candidatesIn(kinds);
  return names.find((name) => !("network" in kinds[name])) ?? names[0];
}

function threeKeys(seed: Key): SeriesKeys {
  const [split, drop, model] = splitKey(seed, 3);
  return { data: seed, split, drop, model };
}

/** Series of a run's data in the order of the record. */
async function asRecorded(made: SeriesSet, record: DataRecord): Promise<SeriesSet> {
  const ordered = inRecordedOrder(made, record);
  const set = record.classes.length > 0 ? withRecordedClasses(ordered, record) : ordered;
  requireSame(set.name, await recordSeries(set), record);
  const positions = new Map(Object.values(record.split).flat().map(({ name, position }) => [name, position]));
  const series: Series[] = [];
  for (const one of set.series) series[positions.get(one.name)!] = one;
  return { ...set, series };
}
