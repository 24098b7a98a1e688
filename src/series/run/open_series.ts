/** Opens trained models of whole series for new data. */
import { noticesOf, type SeriesSet } from "../../data/series.ts";
import type { TableOptions } from "../../data/table/options.ts";
import type { TableSource } from "../../data/table/source.ts";
import { withChosen } from "../choose/auto.ts";
import { loadKind } from "../models/model_settings.ts";
import { type TrainedModel, trainingMemory } from "../models/trained_model.ts";
import {
  inRecordedOrder,
  recordSeries,
  requireValues,
  tableOptions,
  withRecordedClasses,
  withTargets,
} from "../read/recorded_series.ts";
import { countSeen, type DataRecord } from "../record/data_record.ts";
import type { SeriesSource, TargetKind } from "../record/series_source.ts";
import type { SeriesSettings } from "../record/settings.ts";
import type { Classifier } from "../targets/classifier.ts";
import type { Regressor } from "../targets/regressor.ts";
import {
  defaultModel,
  isOfUser,
  keysOf,
  kindsOf,
  type SeriesProblem,
  sizesOf,
  targetsOf,
} from "./series_problem.ts";

/** Makes the model of a run, from the record of its training data. */
export async function openSeries<Settings extends SeriesSettings>(
  problem: SeriesProblem<Settings>,
  runSettings: Settings,
  record: DataRecord,
): Promise<TrainedModel> {
  const settings = withChosen(runSettings, record.training);
  await loadKind(kindsOf(problem), settings.model ?? defaultModel);
  const { model: key } = keysOf(problem, settings.seed);
  const options = { record, settings, key, ...sizesOf(problem, settings) };
  const model: Classifier | Regressor = settings.task === "regress"
    ? (await import("../targets/regressor.ts")).regressor(options)
    : (await import("../targets/classifier.ts")).classifier({ ...options, rules: problem.rules?.(settings) });
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
    ...(isOfUser(problem) ? { memory: trainingMemory } : {}),
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
}
