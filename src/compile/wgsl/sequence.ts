/** Finds what repeats in a sequence, so that its code is written once: stages of a Runge-Kutta step, layers of a network. */

/** A part of a sequence: an item, or repeated parts. */
export type SequencePart<T> = Single<T> | Repeated<T>;

/** An item of a sequence; inside repetitions, one for each iteration of all the loops around it, the innermost first. */
export interface Single<T> {
  readonly kind: "single";
  readonly items: readonly T[];
}

/** Parts that are run through several times. */
export interface Repeated<T> {
  readonly kind: "repeated";
  readonly times: number;
  readonly parts: readonly SequencePart<T>[];
}

/** Largest number of pieces that a repeated part may have. */
const maxPeriod = 128;

/** Cost of a loop, in the unit of the cost of items: characters of code. */
const loopCost = 200;

/** A part under construction. */
interface Piece<T> {
  /** Equal for pieces that one code does. */
  readonly signature: string;
  readonly cost: number;
  /** Items of the piece, in order. */
  readonly items: readonly T[];
  /** The part that runs through several such lists of items, one for each iteration of the loops around it. */
  readonly build: (iterations: readonly (readonly T[])[]) => SequencePart<T>;
}

/**
 * Writes a sequence with loops. Items of one place in a loop may differ: all of them are then written there.
 *
 * @param kind Of an item; equal for items that one code does.
 * @param cost Of writing an item's code.
 */
export function findRepetitions<T>(
  sequence: readonly T[],
  kind: (item: T) => string,
  cost: (item: T) => number,
): SequencePart<T>[] {
  const pieces = sequence.map((item): Piece<T> => ({
    signature: kind(item),
    cost: cost(item),
    items: [item],
    build: (iterations) => ({ kind: "single", items: iterations.map(([own]) => own) }),
  }));
  // Exact repetitions first: they may then be pieces of repetitions whose items differ.
  return compress(compress(pieces, false), true).map((piece) => piece.build([piece.items]));
}

function compress<T>(pieces: readonly Piece<T>[], mayDiffer: boolean): Piece<T>[] {
  const { length } = pieces;
  /** The cheapest way to write what follows each piece. */
  const best: { cost: number; period: number; times: number }[] = new Array(length + 1);
  best[length] = { cost: 0, period: 0, times: 0 };
  for (let i = length - 1; i >= 0; i--) {
    best[i] = { cost: pieces[i].cost + best[i + 1].cost, period: 1, times: 1 };
    for (let period = 1; period <= Math.min(maxPeriod, (length - i) / 2); period++) {
      const written = pieces.slice(i, i + period).map((piece) => new Map([[piece.signature, piece.cost]]));
      const once = total(written);
      for (let times = 2; i + times * period <= length; times++) {
        const before = total(written);
        const iteration = pieces.slice(i + (times - 1) * period, i + times * period);
        if (!iteration.every((piece, q) => fits(piece, pieces[i + q], mayDiffer))) break;
        iteration.forEach((piece, q) => written[q].set(piece.signature, piece.cost));
        // An iteration that has little in common with those before does not belong to them.
        if (total(written) - before > once / 2) break;
        const cost = total(written) + loopCost + best[i + times * period].cost;
        if (cost < best[i].cost) best[i] = { cost, period, times };
      }
    }
  }
  const result: Piece<T>[] = [];
  for (let i = 0; i < length;) {
    const { period, times } = best[i];
    const iterations = Array.from(
      { length: times },
      (_, iteration) => pieces.slice(i + iteration * period, i + (iteration + 1) * period),
    );
    result.push(
      times === 1
        ? pieces[i]
        : loop(mayDiffer ? iterations : iterations.map((iteration) => compress(iteration, false))),
    );
    i += period * times;
  }
  return result;
}

/** Whether two pieces can stand in one place: loops only where they are alike. */
function fits<T>(a: Piece<T>, b: Piece<T>, mayDiffer: boolean): boolean {
  return a.signature === b.signature || mayDiffer && a.items.length === 1 && b.items.length === 1;
}

function total(written: readonly ReadonlyMap<string, number>[]): number {
  return written.reduce((sum, costs) => [...costs.values()].reduce((sum, cost) => sum + cost, sum), 0);
}

function loop<T>(iterations: readonly (readonly Piece<T>[])[]): Piece<T> {
  const [first] = iterations;
  const kinds = first.map((_, q) =>
    new Map(iterations.map((iteration) => [iteration[q].signature, iteration[q].cost]))
  );
  const starts = first.map((_, q) => first.slice(0, q).reduce((sum, { items }) => sum + items.length, 0));
  const size = first.reduce((sum, { items }) => sum + items.length, 0);
  return {
    signature: `${iterations.length}(${
      iterations.map((iteration) => iteration.map(({ signature }) => signature).join()).join(";")
    })`,
    cost: total(kinds) + loopCost,
    items: iterations.flatMap((iteration) => iteration.flatMap(({ items }) => items)),
    build: (outer) => ({
      kind: "repeated",
      times: iterations.length,
      parts: first.map((piece, q) =>
        piece.build(outer.flatMap((items) =>
          iterations.map((_, iteration) => {
            const start = iteration * size + starts[q];
            return items.slice(start, start + piece.items.length);
          })
        ))
      ),
    }),
  };
}
