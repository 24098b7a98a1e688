/** Models that forecast each channel from its history, with parameters for each series. */
import { layer, parameter } from "../../../nn/layer.ts";
import { tensor, zeros } from "../../../tensor/creation.ts";
import type { ForecastWindow } from "../../read/forecast_windows.ts";
import { historyOf, wholePast, withWholeSeason } from "../../read/histories.ts";
import { countObserved, type HistoryForecast } from "./smoothed_forecast.ts";
import { selectEvenly } from "../../math/select_evenly.ts";
import type { FitData, HostModel, WindowInputs, WindowModel, WindowModelSizes } from "../forecaster.ts";

/** A way to forecast a history. A form is a choice of the parameters; it does not depend on the unit of values. */
export interface HistoryMethod<Form> {
  /** Number of parameters. */
  readonly size: number;
  /** Form before anything is fitted. */
  readonly initial: Form;
  /** Fits a form to a history. */
  fit(history: Float64Array): Form;
  /** Parameters of a form. */
  encode(form: Form): ArrayLike<number>;
  decode(parameters: Float64Array): Form;
  forecast(form: Form, history: Float64Array, horizon: number): HistoryForecast;
  /** Mean negative log-likelihood of a history, up to a constant. It compares forms. */
  cost(form: Form, history: Float64Array): number;
}

/** Maximum numbers of forms, and of series to compare them on, to choose the form of new series. */
const [maxForms, maxCompared] = [16, 64];

/** Maximum time between two turns of the event loop while fitting, in milliseconds. */
const turnInterval = 50;

/**
 * A model that forecasts the history of each channel. Each training series has its own form. A new series is
 * forecast with the form of the training series that fits all training series best.
 *
 * Parameters: `(series + 1, channels, size)`, the last row for new series.
 */
export function historyModel<Form>(
  { channels, targetChannels, context, gap, horizon, names, season, fillsSeason }: WindowModelSizes,
  method: HistoryMethod<Form>,
): WindowModel {
  const { size } = method;
  const rowOf = new Map(names.map((name, row) => [name, row]));
  const forms = parameter(zeros([names.length + 1, channels, size]));
  /** Parameters on the host. Before they are loaded, all forecasts are 0. */
  let stored: ArrayLike<number> | undefined;

  /** Form of a channel of a series; that of new series for an unknown name. */
  const formOf = (series: string, channel: number): Form => {
    const at = ((rowOf.get(series) ?? names.length) * channels + channel) * size;
    return method.decode(Float64Array.from({ length: size }, (_, i) => stored![at + i]));
  };

  const historyIn = (window: Pick<ForecastWindow, "past" | "origin">, channel: number): Float64Array => {
    const history = historyOf(window, channel, channels, { gap, context });
    return fillsSeason ? withWholeSeason(history, season) : history;
  };

  let forecasts = new WeakMap<ForecastWindow, readonly HistoryForecast[]>();
  const load = async () => {
    stored = await forms.data();
    forecasts = new WeakMap();
  };
  const forecastAll = (window: ForecastWindow): HistoryForecast[] =>
    Array.from({ length: channels }, (_, channel) => {
      if (!stored || !targetChannels.includes(channel)) {
        return { steps: new Float64Array(horizon), standardDeviations: new Float64Array(horizon) };
      }
      return method.forecast(formOf(window.series, channel), historyIn(window, channel), horizon);
    });
  const host: HostModel = {
    reads: "histories",
    load,
    forecast(window) {
      const forecast = forecasts.get(window) ?? forecastAll(window);
      forecasts.set(window, forecast);
      return forecast;
    },
  };

  async function fit({ series }: FitData): Promise<void> {
    const fitted = new Float32Array(forms.size);
    const write = (row: number, channel: number, form: Form) =>
      fitted.set(method.encode(form), (row * channels + channel) * size);
    const pasts = series.flatMap((one) => {
      const row = rowOf.get(one.name);
      const past = wholePast(one, channels, targetChannels);
      return row === undefined || !past ? [] : [{ row, past }];
    });
    let yieldedAt = performance.now();
    for (const channel of targetChannels) {
      const fits: { row: number; y: Float64Array; form: Form }[] = [];
      for (const { row, past } of pasts) {
        const y = historyIn(past, channel);
        if (countObserved(y) === 0) continue;
        fits.push({ row, y, form: method.fit(y) });
        if (performance.now() - yieldedAt > turnInterval) {
          await new Promise((resolve) => setTimeout(resolve));
          yieldedAt = performance.now();
        }
      }
      const common = commonOf(method, fits) ?? method.initial;
      for (let row = 0; row <= names.length; row++) write(row, channel, common);
      for (const { row, form } of fits) write(row, channel, form);
    }
    forms.assign(tensor(fitted, { shape: forms.shape }));
    await load();
  }

  return Object.assign(layer({ forms }, ({ steps }: WindowInputs) => steps!), { fit, host });
}

/** Form of the series that fits all series best. */
function commonOf<Form>(
  { cost }: HistoryMethod<Form>,
  fitted: readonly { readonly y: Float64Array; readonly form: Form }[],
): Form | undefined {
  if (fitted.length <= 1) return fitted[0]?.form;
  const compared = selectEvenly(fitted, maxCompared);
  const costs = selectEvenly(fitted, maxForms).map(({ form }) => ({
    form,
    cost: compared.reduce((sum, { y }) => sum + cost(form, y), 0),
  }));
  return costs.reduce((best, one) => one.cost < best.cost ? one : best).form;
}
