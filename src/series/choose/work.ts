/**
 * Work of a comparison: the estimated time of its fits on a typical machine. It depends on the sizes of the data and of the
 * models alone, so that a comparison has the same result on every machine.
 */
import { formatDuration } from "../../charts/format.ts";
import type { PlanOptions } from "../../train/task.ts";
import { autoBudget, searchBudget, secondsOfBudget } from "../record/budget.ts";
import type { FitSize, ModelKind } from "../models/model_settings.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** Scalar operations per second of a typical machine, two cores of a laptop. Measured with small models. */
const operationsPerSecond = 1.5e10;
/** Operations in the time that the launches of an optimiser step take, whatever its size. */
const launchOperations = 6e7;
/** Operations of a parameter for a row: a product and a sum, forwards, and twice as many for the gradient. */
const operationsPerParameter = 6;
/** Operations of a fit in closed form for a value of its data. */
const operationsPerValue = 1e4;

/** Seconds of a fit in closed form. */
export function fitSeconds({ operations }: Pick<ModelKind, "operations">, size: FitSize): number {
  const { samples, rows, channels } = size;
  return (operations?.(size) ?? operationsPerValue * samples * rows * channels) / operationsPerSecond;
}

/** Seconds of an optimiser step: each parameter acts on each row of each sample. */
export function stepSeconds(
  { parameters, batchSize, rows }: { parameters: number; batchSize: number; rows: number },
): number {
  return (launchOperations + operationsPerParameter * parameters * batchSize * rows) / operationsPerSecond;
}

/** Real time after which a comparison ends, as a multiple of its budget. */
const lastResort = 10;

/** Work that a comparison may do. */
export class WorkBudget {
  /** Ends the comparison: the signal of the caller, or the last resort. */
  readonly signal: AbortSignal;
  #left: number;

  /** Prints the budget. */
  constructor(settings: Pick<SeriesSettings, "search" | "budget">, { signal, onLine }: PlanOptions) {
    const { search, budget = search === undefined ? autoBudget : searchBudget } = settings;
    this.#left = secondsOfBudget(budget);
    const end = AbortSignal.timeout(Math.min(2 ** 31 - 1, 1000 * lastResort * this.#left));
    this.signal = AbortSignal.any([...signal ? [signal] : [], end]);
    onLine?.(
      `comparing ${search === undefined ? "models" : `${search} settings`} with at most the work of ${
        formatDuration(this.#left)
      } on a typical machine (budget ${budget})`,
    );
  }

  /** Seconds of a typical machine that are left. */
  get left(): number {
    return this.#left;
  }

  /**
   * Takes some work from the budget.
   *
   * @param isForced Whether to take more than is left.
   * @returns The reason if the budget does not have as much left.
   */
  spend(seconds: number, isForced = false): string | undefined {
    if (seconds > this.#left && !isForced) {
      return `not started: its work is ${formatDuration(seconds)} on a typical machine, and the budget has ${
        formatDuration(this.#left)
      } left`;
    }
    this.#left -= seconds;
    return undefined;
  }
}
