/** Reads the series of a table with their classes or numbers. */
import type { SeriesSet } from "../../data/series.ts";
import { DataError } from "../../device/errors.ts";
import { countLabels } from "../math/class_counts.ts";
import { withHeldOutSeries } from "../read/held_out_sets.ts";
import { readSeries } from "../read/read_series.ts";
import { tableOptions } from "../read/recorded_series.ts";
import type { DataRecord } from "../record/data_record.ts";
import { type SeriesSettings, sourcesOf } from "../record/settings.ts";
import { targetsOf } from "./series_problem.ts";

/** Reads the series to train on and, if they are given, to validate and to test on. @param earlier Record of the run. */
export async function readTargets(settings: SeriesSettings, earlier?: DataRecord): Promise<SeriesSet> {
  const options = { ...tableOptions(settings, earlier), targets: targetsOf(settings) };
  const sources = sourcesOf(settings);
  const set = await withHeldOutSeries(
    await readSeries(sources.data!, options),
    sources,
    (source, columns) => readSeries(source, { ...options, ...columns }),
  );
  if (settings.task !== "regress") requireClasses(set);
  return set;
}

/** @throws {DataError} If a set has too few classes, or too few series of a class, to train a classifier. */
export function requireClasses({ name, classes, series, validationFrom, testFrom }: SeriesSet): void {
  if (classes.length < 2) {
    const expected = "at least two different labels";
    const details = { option: "target", column: "label", expected } as const;
    if (classes.length === 1) {
      throw new DataError(
        "too-small",
        `${name}: only the label "${classes[0]}"; expected ${expected}`,
        details,
      );
    }
    throw new DataError("missing-column", `${name}: no column "label" with the class of each series`, {
      ...details,
      fixes: [
        (write) => `name the column of the classes with ${write("target")}`,
        (write) => `or predict future values with ${write("task")} forecast`,
      ],
    });
  }
  // A validation or test set in a separate file takes no series of the table.
  const parts = [
    "train",
    ...validationFrom === undefined ? ["validate"] : [],
    ...testFrom === undefined ? ["test"] : [],
  ];
  const training = series.slice(0, validationFrom ?? testFrom);
  const few = countLabels(training, classes.length).findIndex((count) => count < parts.length);
  if (few >= 0) {
    throw new DataError(
      "too-small",
      `${name}: fewer than ${parts.length} series of the label "${classes[few]}"; each label needs one to ${
        parts.join(", one to ")
      }`,
    );
  }
}
