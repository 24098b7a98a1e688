/** Models that users choose by their names. */
import { OptionError } from "../../device/errors.ts";
import type { FittedModelKind } from "./series_network.ts";
import type { SeriesModelKind } from "./whole_series.ts";
import type { WindowModelKind } from "./forecaster.ts";

/**
 * A model for the option `model`: its name, and how it predicts. A model may predict classes and numbers of whole
 * series, forecasts, or both.
 */
export interface Model {
  /** Name: lower-case letters, digits and hyphens. */
  readonly name: string;
  /** Predicts classes and numbers of whole series. */
  readonly wholeSeries?: SeriesModelKind | FittedModelKind;
  /** Forecasts series. */
  readonly forecasts?: WindowModelKind;
}

/** Models of whole series, by name. */
export function wholeSeriesKinds(
  models: readonly Model[],
): Readonly<Record<string, SeriesModelKind | FittedModelKind>> {
  return Object.fromEntries(
    models.flatMap(({ name, wholeSeries }) => wholeSeries ? [[name, wholeSeries]] : []),
  );
}

/** Models that forecast, by name. */
export function forecastKinds(models: readonly Model[]): Readonly<Record<string, WindowModelKind>> {
  return Object.fromEntries(models.flatMap(({ name, forecasts }) => forecasts ? [[name, forecasts]] : []));
}

/**
 * Rejects a list with a value that is not a model, or with two models of one name.
 *
 * @param reserved Names that models cannot have.
 */
export function checkModels(operation: string, models: readonly Model[], reserved: readonly string[]): void {
  const fail = (fault: string, expected: string): never => {
    throw new OptionError("invalid-option", `${operation}: ${fault}; expected ${expected}`, {
      option: "models",
      expected,
    });
  };
  if (!Array.isArray(models) || models.length === 0) {
    fail(`models is ${typeof models}`, "a list of at least one model");
  }
  const names = new Set(reserved);
  for (const { name, wholeSeries, forecasts } of models) {
    if (typeof name !== "string" || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
      fail(`the name of a model is ${JSON.stringify(name)}`, "lower-case letters, digits and hyphens");
    }
    if (names.has(name)) fail(`two models are called "${name}"`, "one model of each name");
    names.add(name);
    if (!wholeSeries && !forecasts) fail(`the model "${name}" predicts nothing`, "wholeSeries or forecasts");
  }
}
