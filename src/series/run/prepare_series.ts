/** Prepares the training of models of whole series: reads and splits the data, and compares models. */
import { dropObservations, mapSplits, type Series, type SeriesSet } from "../../data/series.ts";
import { describeSeries } from "../../data/table/describe.ts";
import { largest } from "../../device/min_max.ts";
import { parameterCount } from "../../nn/layer.ts";
import { foldIn, key } from "../../tensor/random.ts";
import type { Task } from "../../train/task.ts";
import type { SeriesNetworkOptions } from "../models/series_network.ts";
import { autoModel, candidatesIn, choiceOf, modelCandidates, withChosen } from "../choose/auto.ts";
import { withComparison } from "../choose/comparison_report.ts";
import type { CandidateProblem } from "../choose/cross_validation.ts";
import { isPlanned } from "../choose/is_planned.ts";
import { fitSeconds, stepSeconds } from "../choose/work.ts";
import { countLabels } from "../math/class_counts.ts";
import { describeRows, downsample, downsamplingOf } from "../models/downsample.ts";
import { kindNamed, loadKind, withoutEffect } from "../models/model_settings.ts";
import { paceFor } from "../models/slope_scale.ts";
import { ownChannels, recordTargets, scaledChannels } from "../read/recorded_channels.ts";
import {
  inRecordedOrder,
  recordSeries,
  recordTimes,
  requireValues,
  withRecordedClasses,
} from "../read/recorded_series.ts";
import { splitSeries } from "../read/split_series.ts";
import { onGrid, recordClock } from "../read/time_grid.ts";
import {
  type DataRecord,
  describeRecord,
  type RecordedSeries,
  recordVersion,
  requireSame,
} from "../record/data_record.ts";
import type { RecordedTraining } from "../record/recorded_training.ts";
import { type SeriesSettings, sourcesOf } from "../record/settings.ts";
import { classification } from "../targets/classification.ts";
import { drawChannels } from "../targets/draw_channels.ts";
import { fitSummary } from "../targets/fit_summary.ts";
import { rangesOf } from "../targets/learned_ranges.ts";
import { regression } from "../targets/regression.ts";
import type { SeriesTask } from "../targets/score.ts";
import { defaultModel, isOfUser, keysOf, kindsOf, type SeriesProblem, sizesOf } from "./series_problem.ts";

/** Reads or generates the series of a problem, and makes the model on the current device. */
export async function prepareSeries<Settings extends SeriesSettings>(
  problem: SeriesProblem<Settings>,
  settings: Settings,
  earlier?: DataRecord,
): Promise<Task> {
  const { draw = drawChannels, dataSeed = ({ seed }) => seed, rules } = problem;
  const isOwnData = isOfUser(problem);
  const keys = {
    ...keysOf(problem, settings.dataSeed ?? dataSeed(settings)),
    model: keysOf(problem, settings.seed).model,
  };
  const loaded = await problem.make(settings, keys.data, earlier);
  requireValues(loaded);
  const set = earlier ? await asRecorded(loaded, earlier) : loaded;
  const split = earlier?.split ?? await splitSeries(set, keys.split, settings);
  const dropped = dropObservations(set, settings.drop ?? 0, keys.drop);
  const seriesOf = (part: readonly RecordedSeries[]) => part.map(({ position }) => dropped.series[position]);
  const kinds = kindsOf(problem);
  const learnedFrom = seriesOf(split.train);
  const isBinary = set.classes.length === 2 && settings.positiveWeight !== undefined;
  /** Linear models by the series and the channels that they were fitted to: cross-validation asks for each repeatedly. */
  const linearModels = new Map<string, DataRecord["linear"]>();
  const linearFor = (train: readonly RecordedSeries[], record: Parameters<typeof fitSummary>[1]) => {
    const dataKey = `${JSON.stringify(record.channels)} ${train.map(({ position }) => position)}`;
    if (!linearModels.has(dataKey)) linearModels.set(dataKey, fitSummary(seriesOf(train), record, isBinary));
    return linearModels.get(dataKey);
  };
  const recordOf = async (
    runSettings: Settings,
    split: DataRecord["split"],
    training: RecordedTraining,
  ): Promise<DataRecord> => {
    const settings = withChosen(runSettings, training);
    const kind = kindNamed(kinds, settings.model ?? defaultModel);
    const condensing = isOwnData ? downsamplingOf(kind, settings, learnedFrom) : undefined;
    const blockRows = condensing?.by === "means" ? condensing.rows : 1;
    // The statistics are those of the rows that the model reads.
    const time = (isOwnData ? recordClock : recordTimes)(set, problem.timeScale(set));
    const train = seriesOf(split.train).map((one) =>
      downsample(onGrid(one, time.grid), set.channels.length, blockRows)
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
    const pace = isOwnData ? await paceFor(kind, train, { channels, time, condensing }, settings) : undefined;
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
  const taskOf = async (
    runSettings: Settings,
    record: DataRecord,
    fitted?: SeriesNetworkOptions["fitted"],
  ): Promise<SeriesTask> => {
    const settings = withChosen(runSettings, record.training);
    const kind = await loadKind(kinds, settings.model ?? defaultModel);
    const options = {
      record,
      splits: mapSplits(record.split, seriesOf),
      settings,
      key: keys.model,
      fitted,
      ...sizesOf(problem, settings),
    };
    const task = settings.task === "regress" ? regression(options) as SeriesTask : classification({
      ...options,
      rules: rules?.(settings),
      draw: (series) => draw(series, record),
    }) as SeriesTask;
    const unused = withoutEffect(kind, task.fit !== undefined);
    return withComparison({ ...task, unused }, record.training);
  };
  /** The task with the texts about its data. */
  const described = (task: SeriesTask, isChosen = true): Task => {
    const stepsText = isChosen ? describeRows(task.record.condensing, set.series) : undefined;
    return {
      ...task,
      description: [
        ...(sourcesOf(settings).data === undefined
          ? []
          : [describeRecord(task.record), ...describeSeries(set)]),
        ...(stepsText ? [stepsText] : []),
      ],
      ...(set.notices ? { notices: set.notices } : {}),
      ...(stepsText ? { chosen: { ...task.chosen, steps: stepsText } } : {}),
      testSize: `${split.test.length} of ${set.series.length} series`,
    };
  };
  const isAuto = settings.model === autoModel;
  const record = earlier ?? await recordOf(settings, split, {
    ensemble: settings.ensemble ?? 1,
    // Until a model is chosen, one that is trained with gradients stands in for the choice.
    ...(isAuto ? { chosen: choiceOf(kinds, standInOf(kinds)) } : {}),
  });
  const task = described(await taskOf(settings, record), !isAuto || earlier !== undefined);
  const isSmall = isPlanned(settings, task, record);
  const { search } = settings;
  const isCompared = isAuto || search !== undefined;
  if (!isOwnData || earlier || !isCompared && !isSmall) return task;
  return {
    ...task,
    async plan(options) {
      const learned = [...split.train, ...split.validation];
      const fitted: SeriesNetworkOptions["fitted"] = new Map();
      const problem: CandidateProblem<Settings> = {
        series: seriesOf(learned),
        classes: settings.task === "regress" ? 0 : set.classes.length,
        async task(settings, parts, optimizerSteps) {
          const learnedParts = mapSplits(parts, (indices) => indices.map((index) => learned[index]));
          const training = { ensemble: 1, found: { steps: optimizerSteps, temperature: 1 } };
          return await taskOf(settings, await recordOf(settings, learnedParts, training), fitted);
        },
        async seconds(settings, optimizerSteps) {
          const kind = kindNamed(kinds, settings.model!);
          const { length: rows, channels } = record;
          if ("network" in kind) {
            const outputs = record.targets?.length ?? record.classes.length;
            return fitSeconds(kind, { samples: learned.length, rows, channels: channels.length, outputs });
          }
          // The number of parameters does not depend on the series that the model learns from.
          const one = learned.slice(0, 1);
          const split = { train: one, validation: one, test: one };
          const trial = await recordOf(settings, split, { ensemble: 1 });
          return optimizerSteps * stepSeconds({
            parameters: parameterCount((await taskOf(settings, trial)).parameters),
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
      const plan = isCompared
        ? await planModel({ problem, settings, candidates, split, isSmall, ...options })
        : await planTraining(problem, settings, { ...options, isClosedForm: task.fit !== undefined });
      if (!plan) return undefined;
      const isRefit = plan.found !== undefined && isSmall;
      const final = isRefit ? { ...split, train: learned, validation: [] } : split;
      const planned = described(await taskOf(settings, await recordOf(settings, final, plan)));
      if (isAuto && planned.chosen?.steps) options.onLine?.(planned.chosen.steps);
      return planned;
    },
  };
}

/** The first candidate that is trained with gradients, or the first one. */
function standInOf(kinds: ReturnType<typeof kindsOf>): string {
  const names = candidatesIn(kinds);
  return names.find((name) => !("network" in kinds[name])) ?? names[0];
}

/** Series of a run's data in the order of the record. */
async function asRecorded(loaded: SeriesSet, record: DataRecord): Promise<SeriesSet> {
  const ordered = inRecordedOrder(loaded, record);
  const set = record.classes.length > 0 ? withRecordedClasses(ordered, record) : ordered;
  requireSame(set.name, await recordSeries(set), record);
  const positions = new Map(Object.values(record.split).flat().map(({ name, position }) => [name, position]));
  const series: Series[] = [];
  for (const one of set.series) series[positions.get(one.name)!] = one;
  return { ...set, series };
}
