/** Rules of operations that copy elements or put them in order. */
import { at, build, type Nd } from "../tensor/nd.ts";
import { anAxis, flow, fromFront, isNumber, type Rule, type Value } from "./rule.ts";

function tile([x, repeats]: [Nd, number | readonly number[]]): Nd {
  const counts = [repeats].flat() as number[];
  const rank = Math.max(x.shape.length, counts.length);
  const padded = (list: readonly number[]) => [...Array(rank - list.length).fill(1), ...list];
  const [lengths, times] = [padded(x.shape), padded(counts)];
  return build(
    lengths.map((length, axis) => length * times[axis]),
    (position) => at(x, position.map((p, axis) => p % lengths[axis]).slice(rank - x.shape.length)),
  );
}

interface Order {
  readonly descending?: boolean;
}

/** The positions that sort each line along an axis; equal elements stay in order. */
function argsort([x, axis = -1, { descending = false } = {}]: [Nd, number?, Order?]): Nd {
  const along = fromFront(axis, x.shape.length);
  const sign = descending ? -1 : 1;
  return build(x.shape, (position) => {
    const value = (i: number) => sign * at(x, position.with(along, i));
    const order = Array.from({ length: x.shape[along] }, (_, i) => i).sort((a, b) => {
      const [first, second] = [value(a), value(b)];
      return first < second ? -1 : first > second ? 1 : a - b;
    });
    return order[position[along]];
  });
}

function takenAlong(x: Nd, order: Nd, axis: number): Nd {
  const along = fromFront(axis, x.shape.length);
  return build(order.shape, (position) => at(x, position.with(along, at(order, position))));
}

/** The smallest distance of two neighbours in order, if one of them is active. */
function gapOf([x, axis = -1, options]: [Value, number?, Order?]): number {
  const order = argsort([x, axis, options]);
  const along = fromFront(axis, x.shape.length);
  const [sorted, active] = [x.values, x.active].map((values) => takenAlong({ ...x, values }, order, axis));
  const gaps = build(sorted.shape, (position) => {
    if (position[along] === 0) return Infinity;
    const before = position.with(along, position[along] - 1);
    const isActive = at(active, before) > 0 || at(active, position) > 0;
    return isActive ? Math.abs(at(sorted, position) - at(sorted, before)) : Infinity;
  });
  return Math.min(Infinity, ...gaps.values);
}

const ordering: Omit<Rule, "evaluate" | "active"> = {
  draw: (draw) => {
    // Rounding errors would decide the order of elements that are nearly equal.
    const x = draw.value((x) =>
      isNumber(x) && x.shape.length > 0 && x.isExact && !x.values.some(Number.isNaN)
    );
    if (!x) return undefined;
    const axis = anAxis(draw, draw.of(x).shape.length);
    return [x, ...draw.chance(30) ? [] : [axis, ...draw.chance(50) ? [{ descending: draw.chance(70) }] : []]];
  },
  margin: gapOf as Rule["margin"],
  isExact: true,
};

export const copyRules: Readonly<Record<string, Rule>> = {
  tile: {
    draw: (draw) => {
      const x = draw.value(({ values }) => values.length <= 20);
      if (!x) return undefined;
      const count = () => draw.pick([1, 1, 2, 3, 0]);
      if (draw.chance(20)) return [x, count()];
      const rank = draw.of(x).shape.length;
      return [x, Array.from({ length: draw.below(Math.min(4, rank + 1) + 1) }, count)];
    },
    evaluate: tile,
    active: flow.linear(tile),
    isExact: true,
  },
  sort: {
    ...ordering,
    evaluate: ([x, axis = -1, options]: [Nd, number?, Order?]) =>
      takenAlong(x, argsort([x, axis, options]), axis),
    active: ([x, axis = -1, options]: [Value, number?, Order?]) =>
      takenAlong({ ...x, values: x.active }, argsort([x, axis, options]), axis),
  },
  argsort: { ...ordering, evaluate: argsort as Rule["evaluate"], active: flow.none, dtype: () => "int32" },
};
