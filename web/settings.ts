/** Settings of a training in the playground, and the command with the same settings. */
import type { TableOptions } from "../src/data/table/options.ts";
import type { SeriesSettings } from "../src/series/record/settings.ts";
import { flag } from "../src/train/option.ts";
import { isClosedForm } from "./future.ts";
import type { Choice } from "./messages.ts";

/** Sizes and learning rates that suit the example data. */
const modelSettings: Readonly<Record<string, Partial<SeriesSettings>>> = {
  "neural-cde": { hidden: 8, width: 16 },
  "delta-cde": { hidden: 8, heads: 1, feedForward: 16 },
  warp: { hidden: 8, learningRate: 0.01, batchSize: 16 },
};

/**
 * Settings of a training.
 *
 * @param horizon Number of steps of a forecast; undefined for a model that classifies.
 * @param context Number of steps that a forecast reads; undefined for the default.
 * @param table Columns of a visitor's table.
 */
export function settingsOf(
  { model, path, method, device, epochs }: Choice,
  { horizon, context, table }: { horizon?: number; context?: number; table?: TableOptions },
): Partial<SeriesSettings> & { device: string } {
  const isForecast = horizon !== undefined;
  const isFitted = isForecast && isClosedForm(model);
  return {
    ...{ model, device, table },
    ...(isForecast ? { task: "forecast", horizon, context } : {}),
    ...(isFitted ? {} : { epochs, batchSize: 32, learningRate: 0.02, ...modelSettings[model] }),
    ...(isFitted || model === "warp" ? {} : { method }),
    ...(model !== "warp" && path === "hermite" && !isForecast ? { online: true } : {}),
  } as Partial<SeriesSettings> & { device: string };
}

/** Command of a training with these settings on a table. */
export function commandOf({ table, ...settings }: Partial<SeriesSettings>, file: string): string {
  const options = Object.entries({ ...table, ...settings }).filter(([, value]) => value !== undefined);
  const quoted = (text: string) => /^[\w.,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
  const flags = options.map(([name, value]) =>
    value === true ? flag(name) : `${flag(name)} ${quoted(`${value}`)}`
  );
  return ["deno task train own-series --data", quoted(file), ...flags].join(" ");
}
