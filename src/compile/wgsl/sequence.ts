/** Finds what repeats in a sequence, so that its code is written once: stages of a Runge-Kutta step, layers of a network. */

/** A part of a sequence: an item, or some that repeat. */
export type Part<T> = Single<T> | Repeated<T>;

/** An item of a sequence; inside repetitions, one for each turn of all the loops around it, the innermost first. */
export interface Single<T> {
  readonly kind: "single";
  readonly items: readonly T[];
}

/** Parts that are run through several times. */
export interface Repeated<T> {
  readonly kind: "repeated";
  readonly times: number;
  readonly parts: readonly Part<T>[];
}

/** Repetitions longer than this are not looked for. */
const longest = 128;

/** What a loop costs, in the same unit as items. */
const loopCost = 200;

/**
 * Writes a sequence with loops. Items of one place in a loop may differ: all of them are then written there.
 *
 * @param kind Of an item; equal for items that one code does.
 * @param cost Of writing an item's code.
 */
export function findRepetitions<T>(
  sequence: readonly T[],
  kind: (item: T) => unknown,
  cost: (item: T) => number,
): Part<T>[] {
  const costs = new Map(sequence.map((item) => [kind(item), cost(item)]));
  return compress(sequence.map((item) => [item]), kind, costs);
}

function compress<T>(
  columns: readonly (readonly T[])[],
  kind: (item: T) => unknown,
  costs: ReadonlyMap<unknown, number>,
): Part<T>[] {
  const kinds = columns.map((column) => new Set(column.map(kind)));
  const costOf = (all: ReadonlySet<unknown>) =>
    [...all].reduce((sum: number, own) => sum + costs.get(own)!, 0);
  /** The cheapest way to write what follows a column. */
  const best: { cost: number; period: number; times: number }[] = new Array(columns.length + 1);
  best[columns.length] = { cost: 0, period: 0, times: 0 };
  for (let i = columns.length - 1; i >= 0; i--) {
    best[i] = { cost: costOf(kinds[i]) + best[i + 1].cost, period: 1, times: 1 };
    for (let period = 1; period <= Math.min(longest, (columns.length - i) / 2); period++) {
      const met = kinds.slice(i, i + period).map((own) => new Set(own));
      let written = met.reduce((sum, own) => sum + costOf(own), 0);
      const once = written;
      for (let times = 2; i + times * period <= columns.length; times++) {
        const before = written;
        for (let q = 0; q < period; q++) {
          for (const own of kinds[i + (times - 1) * period + q]) {
            if (!met[q].has(own)) written += costs.get(own)!;
            met[q].add(own);
          }
        }
        // A turn that has little in common with those before does not belong to them.
        if (written - before > once / 2) break;
        const cost = written + loopCost + best[i + times * period].cost;
        if (cost < best[i].cost) best[i] = { cost, period, times };
      }
    }
  }
  const parts: Part<T>[] = [];
  for (let i = 0; i < columns.length;) {
    const { period, times } = best[i];
    if (times === 1) parts.push({ kind: "single", items: columns[i] });
    else {
      const body = Array.from(
        { length: period },
        (_, q) =>
          columns[i].flatMap((_, outer) =>
            Array.from({ length: times }, (_, turn) => columns[i + turn * period + q][outer])
          ),
      );
      parts.push({ kind: "repeated", times, parts: compress(body, kind, costs) });
    }
    i += period * times;
  }
  return parts;
}
