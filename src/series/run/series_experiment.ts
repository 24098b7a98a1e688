/** Experiments on whole series: classes or numbers, by one model or by the best of several. */
import { type ModelExperiment, modelRules } from "../models/model_settings.ts";
import { checkDataRecord } from "../record/data_record.ts";
import type { SeriesSettings } from "../record/settings.ts";
import { kindsOf, type SeriesProblem } from "./series_problem.ts";

/** Makes an experiment that predicts a class or numbers of each series. The split is 70 % training, 15 % validation and 15 % test. */
export function seriesExperiment<Settings extends SeriesSettings>(
  problem: SeriesProblem<Settings>,
): ModelExperiment<Settings> {
  const { name, summary, options } = problem;
  return modelRules({
    name,
    summary,
    options,
    models: () => kindsOf(problem),
    checkRecord: checkDataRecord,
    async prepare(settings, earlier) {
      const { prepareSeries } = await import("./prepare_series.ts");
      return await prepareSeries(problem, settings, earlier);
    },
    async open(settings, record) {
      const { openSeries } = await import("./open_series.ts");
      return await openSeries(problem, settings, record);
    },
  }, { defaultsFor: problem.defaultsFor });
}
