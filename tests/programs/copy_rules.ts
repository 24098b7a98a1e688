/** Rules of operations that copy elements. */
import { at, build, type Nd } from "../tensor/nd.ts";
import { flow, type Rule } from "./rule.ts";

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
};
