/** When cross-validation plans a training. */
import type { Task } from "../../train/task.ts";
import type { DataRecord } from "../record/data_record.ts";
import { type SeriesSettings, sourcesOf } from "../record/settings.ts";

/** Maximum number of series, and of observations of a series, of a small table. */
const [maxSeries, maxLength] = [1000, 1000];

/**
 * Whether cross-validation decides the length of training, and the final model learns from the training and
 * the validation set: for small tables, if no other length of training is asked for.
 */
export function isPlanned(
  settings: SeriesSettings,
  { fit }: Pick<Task, "fit">,
  { split, length }: Pick<DataRecord, "split" | "length">,
): boolean {
  const { epochs, patience, noRefit } = settings;
  const { validation } = sourcesOf(settings);
  const isSmall = split.train.length + split.validation.length <= maxSeries && length <= maxLength;
  return isSmall && !noRefit && validation === undefined && patience === undefined &&
    (epochs === undefined || fit !== undefined);
}
