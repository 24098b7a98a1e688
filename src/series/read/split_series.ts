/** Splits of series into training, validation and test sets. */
import { foldSplit, mapSplits, type Series, type SeriesSet, stratifiedSplit } from "../../data/series.ts";
import { type Key, key as keyOf } from "../../tensor/random.ts";
import type { DataRecord, RecordedSeries } from "../record/data_record.ts";
import { recordSeries } from "./recorded_series.ts";
import type { SeriesSettings } from "../record/settings.ts";

/**
 * Splits series so that the classes have the same proportions in each part. Series of a group stay together.
 *
 * @throws {Error} If there are too few series for three parts.
 */
export async function splitSeries(
  set: SeriesSet,
  key: Key,
  { folds, fold = 0 }: Pick<SeriesSettings, "folds" | "fold">,
): Promise<DataRecord["split"]> {
  const recorded = await recordSeries(set);
  const hasSeparateParts = set.testFrom !== undefined || set.validationFrom !== undefined;
  if (hasSeparateParts && folds === undefined) return splitRest(set, recorded, key);
  const items = itemsOf(set, recorded);
  const split = folds === undefined ? stratifiedSplit(items, key) : foldSplit(items, key, folds, fold);
  const empty = Object.entries(split).find(([, { length }]) => length === 0);
  if (empty) {
    const units = items.length < recorded.length ? "groups of series" : "series";
    throw new Error(
      `${set.name}: ${items.length} ${units} leave none for the part "${
        empty[0]
      }"; expected one to train, one to validate and ` +
        "one to test",
    );
  }
  return mapSplits(split, (part) => part.flatMap(({ members }) => members));
}

/** Splits data with a given validation or test set. The other series are split: 15 % for each part not given. */
function splitRest(
  { series, validationFrom, testFrom }: SeriesSet,
  recorded: readonly RecordedSeries[],
  key: Key,
): DataRecord["split"] {
  const training = recorded.slice(0, validationFrom ?? testFrom);
  const separate = {
    validation: validationFrom === undefined ? undefined : recorded.slice(validationFrom, testFrom),
    test: testFrom === undefined ? undefined : recorded.slice(testFrom),
  };
  if (separate.validation && separate.test) {
    return { train: training, validation: separate.validation, test: separate.test };
  }
  const split = mapSplits(
    stratifiedSplit(itemsOf({ series }, training), key, { train: 0.85, validation: 0.15 }),
    (part) => part.flatMap(({ members }) => members),
  );
  const [train, held] = [[...split.train, ...split.test], split.validation];
  return { train, validation: separate.validation ?? held, test: separate.test ?? held };
}

function itemsOf({ series }: Pick<SeriesSet, "series">, recorded: readonly RecordedSeries[]) {
  return groupsOf(recorded, ({ position }) => series[position]);
}

/**
 * Groups of series, which stay together in a split, with the class of their first series; 0 without classes.
 *
 * @param members Series, or values that represent series, such as their positions.
 */
export function groupsOf<Member>(
  members: readonly Member[],
  seriesOf: (member: Member) => Series,
): { readonly label: number; readonly members: Member[] }[] {
  const groups = Map.groupBy(members, (member) => seriesOf(member).group ?? member);
  return Array.from(groups.values(), (members) => ({
    label: Math.max(0, seriesOf(members[0]).label),
    members,
  }));
}

/** Fold of each series, from 0. The series of a group share a fold. There are at most as many folds as groups. */
export function foldsOfSeries(series: readonly Series[], most: number, seed: number): Int32Array {
  const items = groupsOf([...series.keys()], (index) => series[index]);
  const foldOf = new Int32Array(series.length);
  const count = Math.min(most, items.length);
  for (let fold = 0; count > 1 && fold < count; fold++) {
    const { test } = foldSplit(items, keyOf(seed), count, fold);
    for (const member of test.flatMap(({ members }) => members)) foldOf[member] = fold;
  }
  return foldOf;
}
