/** Describes the channels and targets of a training set for a record. */
import { channelStatistics, type Scaling } from "../../data/scaling.ts";
import type { Series, SeriesSet } from "../../data/series.ts";
import type { DataRecord } from "../record/data_record.ts";
import type { SeriesSettings } from "../record/settings.ts";
import { skewedColumns } from "./skewed_columns.ts";

/**
 * Describes the channels of a set for a record.
 *
 * @param train Series of the training set. Their statistics scale the channels.
 */
export function recordChannels(
  { channels, kinds }: Pick<SeriesSet, "channels" | "kinds">,
  train: readonly Series[],
  { scaling }: SeriesSettings,
): DataRecord["channels"] {
  const statistics = channelStatistics(train, channels.length, scaling);
  return channels.map((name, i) => {
    const { column = name, category, role = "observed" } = kinds?.[i] ?? {};
    return {
      name,
      kind: category === undefined ? "number" : "category",
      ...(column === name ? {} : { column }),
      ...(role === "observed" ? {} : { role }),
      ...(category === undefined ? statistics[i] : { mean: 0, standardDeviation: 1 }),
    };
  });
}

/** Describes the numeric targets of a set for a record. */
export function recordTargets(train: readonly Series[], names: readonly string[]): DataRecord["targets"] {
  const values = train.map((one) => ({ ...one, values: one.targets ?? Float64Array.from(names, () => NaN) }));
  const statistics = channelStatistics(values, names.length);
  return names.map((name, i) => ({ name, ...statistics[i] }));
}

/**
 * Describes the channels of users' own series for a record, with the inverse hyperbolic sine of each skewed channel.
 *
 * @param train Series of the training set.
 */
export function ownChannels(
  set: SeriesSet,
  train: readonly Series[],
  settings: SeriesSettings,
): DataRecord["channels"] {
  const curves = skewedColumns(train, set.channels.length, settings.scaling);
  return recordChannels(set, train, settings).map((channel, i) => ({
    ...channel,
    ...(curves[i] && channel.kind === "number" ? { asinh: curves[i] } : {}),
  }));
}

/**
 * Describes the channels of a set for a record. Without scaling the mean is 0 and the standard deviation 1.
 *
 * @param scaling Scaling that overrides the one of the settings.
 */
export function scaledChannels(
  set: SeriesSet,
  train: readonly Series[],
  settings: SeriesSettings,
  scaling: Scaling | "none" | undefined,
): DataRecord["channels"] {
  const channels = recordChannels(
    set,
    train,
    scaling === undefined || scaling === "none" ? settings : { ...settings, scaling },
  );
  return scaling === "none"
    ? channels.map((channel) => ({ ...channel, mean: 0, standardDeviation: 1 }))
    : channels;
}
