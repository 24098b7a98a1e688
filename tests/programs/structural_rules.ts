/** Rules of operations that move, repeat or select elements. */
import { at, build, type Nd, permute, positions, size } from "../tensor/nd.ts";
import {
  anAxis,
  type Argument,
  type Draw,
  flow,
  fromFront,
  hasElements,
  isFloat,
  type Reference,
  type Rule,
  type Value,
} from "./rule.ts";

const anything = () => true;
const hasAxes = (x: Value) => x.shape.length > 0;

/** A rule for an operation on one value, with further arguments that are drawn for its shape. */
function view(
  evaluate: Rule["evaluate"],
  draw: (draw: Draw, shape: readonly number[]) => readonly Argument[] | undefined,
  accepts: (x: Value) => boolean = anything,
): Rule {
  return {
    draw: (context) => {
      const x = context.value(accepts);
      const more = x && draw(context, context.of(x).shape);
      return x && more && [x, ...more];
    },
    evaluate,
    active: flow.linear(evaluate),
    isExact: true,
  };
}

const order = (shape: readonly number[]) => shape.map((_, axis) => axis);

function exchange(x: Nd, a: number, b: number): Nd {
  const axes = order(x.shape);
  const [i, j] = [a, b].map((axis) => fromFront(axis, axes.length));
  [axes[i], axes[j]] = [axes[j], axes[i]];
  return permute(x, axes);
}

/** Slicing as in Python. */
function slice(x: Nd, axis: number, start?: number, end?: number, step = 1): Nd {
  const along = fromFront(axis, x.shape.length);
  const length = x.shape[along];
  const bound = (position: number | undefined, otherwise: number) =>
    position === undefined ? otherwise : Math.min(
      step > 0 ? length : length - 1,
      Math.max(step > 0 ? 0 : -1, position < 0 ? position + length : position),
    );
  const [from, to] = [bound(start, step > 0 ? 0 : length - 1), bound(end, step > 0 ? length : -1)];
  const taken: number[] = [];
  for (let i = from; step > 0 ? i < to : i > to; i += step) taken.push(i);
  return build(
    x.shape.map((length, i) => i === along ? taken.length : length),
    (position) => at(x, position.map((p, i) => i === along ? taken[p] : p)),
  );
}

function concatenate(list: readonly Nd[], axis: number): Nd {
  const along = fromFront(axis, list[0].shape.length);
  const from = list.flatMap((x) => Array.from({ length: x.shape[along] }, (_, i) => [x, i] as const));
  return build(
    list[0].shape.map((length, i) => i === along ? from.length : length),
    (position) => {
      const [x, i] = from[position[along]];
      return at(x, position.map((p, axis) => axis === along ? i : p));
    },
  );
}

const reshaped = (x: Nd, shape: readonly number[]): Nd => ({ shape, values: x.values });

function expanded(x: Nd, axes: number | readonly number[]): Nd {
  const list = [axes].flat() as number[];
  const rank = x.shape.length + list.length;
  const added = list.map((axis) => fromFront(axis, rank));
  const remaining = [...x.shape];
  return reshaped(
    x,
    Array.from({ length: rank }, (_, axis) => added.includes(axis) ? 1 : remaining.shift()!),
  );
}

function squeezed(x: Nd, axes?: number | readonly number[]): Nd {
  const removed = axes === undefined
    ? order(x.shape).filter((axis) => x.shape[axis] === 1)
    : ([axes].flat() as number[]).map((axis) => fromFront(axis, x.shape.length));
  return reshaped(x, x.shape.filter((_, axis) => !removed.includes(axis)));
}

/** Draws a shape with the same number of elements. */
function anotherShape(draw: Draw, shape: readonly number[]): number[] {
  const count = size(shape);
  if (count === 0) return draw.pick([[0], [0, 2], [3, 0, 1], [...shape]]);
  const lengths: number[] = [];
  let remaining = count;
  while (remaining > 1 && lengths.length < 3) {
    const divisors = [2, 3, 4, 5, 6].filter((d) => remaining % d === 0);
    if (divisors.length === 0 || draw.chance(20)) break;
    lengths.push(draw.pick(divisors));
    remaining /= lengths.at(-1)!;
  }
  if (remaining > 1 || draw.chance(30)) lengths.splice(draw.below(lengths.length + 1), 0, remaining);
  return lengths;
}

/** Draws one to three values of one type whose shapes fit the first. */
function several(draw: Draw, accepts: (x: Value, first: Value) => boolean): Reference[] | undefined {
  const first = draw.value(hasAxes) ?? draw.value(anything);
  if (!first) return undefined;
  const list = [first];
  for (let i = draw.below(3); i > 0; i--) {
    const next = draw.value((x) => x.dtype === draw.of(first).dtype && accepts(x, draw.of(first)));
    if (next) list.push(next);
  }
  return draw.chance(50) ? list : list.toReversed();
}

const sameShape = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length && a.every((n, i) => n === b[i]);

/** Draws indices into an axis, as a constant. */
function indices(draw: Draw, shape: readonly number[], length: number, outside: boolean): Argument {
  const one = () => outside && draw.chance(15) ? draw.pick([-1, length, length + 3]) : draw.below(length);
  return { constant: Array.from({ length: size(shape) }, one), shape, dtype: "int32" };
}

function gather([x, indices, axis = 0]: [Nd, Nd, number]): Nd {
  const along = fromFront(axis, x.shape.length);
  const rank = indices.shape.length;
  const shape = [...x.shape.slice(0, along), ...indices.shape, ...x.shape.slice(along + 1)];
  return build(shape, (position) => {
    const index = at(indices, position.slice(along, along + rank));
    if (index < 0 || index >= x.shape[along]) return NaN;
    return at(x, [...position.slice(0, along), index, ...position.slice(along + rank)]);
  });
}

function scatterAdd([x, indices, updates, axis = 0]: [Nd, Nd, Nd, number]): Nd {
  const along = fromFront(axis, x.shape.length);
  const sums = [...x.values];
  const offset = (position: readonly number[]) =>
    x.shape.reduce((sum, length, i) => sum * length + position[i], 0);
  for (const position of positions(updates.shape)) {
    sums[offset(position.with(along, indices.values[position[along]]))] += at(updates, position);
  }
  return { shape: x.shape, values: sums };
}

function pad([x, widths, value = 0]: [Nd, readonly (readonly [number, number])[], number]): Nd {
  return build(x.shape.map((length, axis) => length + widths[axis][0] + widths[axis][1]), (position) => {
    const inner = position.map((p, axis) => p - widths[axis][0]);
    return inner.every((p, axis) => p >= 0 && p < x.shape[axis]) ? at(x, inner) : value;
  });
}

function toShape(draw: Draw, shape: readonly number[]): number[] {
  const stretched = shape.map((length) => length === 1 && draw.chance(60) ? draw.pick([0, 1, 2, 3]) : length);
  return [...Array.from({ length: draw.below(3) }, () => draw.pick([1, 2, 3])), ...stretched];
}

const position = (draw: Draw, length: number): Argument =>
  draw.chance(30) ? undefined : draw.below(2 * length + 3) - length - 1;

const sum = (x: readonly number[]) => x.reduce((total, value) => total + value, 0);

export const structuralRules: Readonly<Record<string, Rule>> = {
  reshape: view(([x, shape]: [Nd, readonly number[]]) => {
    const known = size(shape.filter((length) => length !== -1));
    return reshaped(x, shape.map((length) => length === -1 ? size(x.shape) / known : length));
  }, (draw, shape) => {
    const target = anotherShape(draw, shape);
    const open = draw.below(target.length + 3);
    return [target.map((length, i) => i === open && size(shape) > 0 ? -1 : length)];
  }),
  flatten: view(
    ([x, first = 0, last = -1]: [Nd, number?, number?]) => {
      const [from, to] = [first, last].map((axis) => fromFront(axis, x.shape.length));
      if (x.shape.length === 0) return reshaped(x, [1]);
      return reshaped(x, [
        ...x.shape.slice(0, from),
        size(x.shape.slice(from, to + 1)),
        ...x.shape.slice(to + 1),
      ]);
    },
    (draw, shape) => {
      if (shape.length === 0 || draw.chance(40)) return [];
      const first = draw.below(shape.length);
      return [first, first + draw.below(shape.length - first)];
    },
  ),
  permute: view(
    ([x, axes]: [Nd, readonly number[]]) => permute(x, axes.map((axis) => fromFront(axis, x.shape.length))),
    (draw, shape) => {
      const parameters = order(shape);
      const all = shape.map(() => parameters.splice(draw.below(parameters.length), 1)[0]);
      return [all.map((axis) => draw.chance(20) ? axis - shape.length : axis)];
    },
  ),
  transpose: view(
    ([x, a = -2, b = -1]: [Nd, number?, number?]) => exchange(x, a, b),
    (draw, shape) => draw.chance(50) ? [] : [anAxis(draw, shape.length), anAxis(draw, shape.length)],
    (x) => x.shape.length >= 2,
  ),
  mT: {
    ...view(([x]: [Nd]) => exchange(x, -2, -1), () => [], (x) => x.shape.length >= 2),
    isProperty: true,
  },
  expandDims: view(([x, axes]: [Nd, number | readonly number[]]) => expanded(x, axes), (draw, shape) => {
    if (shape.length > 3) return undefined;
    if (draw.chance(60)) return [anAxis(draw, shape.length + 1)];
    // Axes are counted in the result.
    const rank = shape.length + 2;
    const first = draw.below(rank);
    return [[first, (first + 1 + draw.below(rank - 1)) % rank - (draw.chance(30) ? rank : 0)]];
  }),
  squeeze: view(([x, axes]: [Nd, (number | readonly number[])?]) => squeezed(x, axes), (draw, shape) => {
    const ones = order(shape).filter((axis) => shape[axis] === 1);
    return ones.length === 0 || draw.chance(30)
      ? []
      : [draw.chance(50) ? draw.pick(ones) : ones.map((axis) => axis - shape.length)];
  }),
  broadcastTo: view(
    ([x, shape]: [Nd, readonly number[]]) => build(shape, (position) => at(x, position)),
    (draw, shape) => [toShape(draw, shape)],
  ),
  slice: view(
    ([x, axis, ...range]: [Nd, number, ...number[]]) => slice(x, axis, ...range),
    (draw, shape) => {
      const axis = anAxis(draw, shape.length);
      const length = shape.at(axis)!;
      const step = draw.pick([1, 1, 2, 3, -1, -2, undefined]);
      return [axis, position(draw, length), position(draw, length), step];
    },
    hasAxes,
  ),
  select: view(
    ([x, axis, p]: [Nd, number, number]) => {
      const along = fromFront(axis, x.shape.length);
      const from = fromFront(p, x.shape[along]);
      return squeezed(slice(x, axis, from, from + 1), along);
    },
    (draw, shape) => {
      const axis = anAxis(draw, shape.length);
      return [axis, anAxis(draw, shape.at(axis)!)];
    },
    (x) => hasAxes(x) && hasElements(x),
  ),
  flip: view(
    ([x, axis]: [Nd, number]) => slice(x, axis, undefined, undefined, -1),
    (draw, shape) => [anAxis(draw, shape.length)],
    hasAxes,
  ),
  pad: {
    ...view(pad, (draw, shape) => {
      const widths = shape.map(() => [draw.pick([0, 0, 1, 2]), draw.pick([0, 0, 1])]);
      return draw.chance(60) ? [widths] : [widths, draw.pick([0, 2, -1])];
    }, ({ dtype }) => dtype === "float64" || dtype === "int32"),
    active: flow.linear(([x, widths]: [Nd, readonly (readonly [number, number])[]]) => pad([x, widths, 0])),
  },
  take: {
    draw: (draw) => {
      const x = draw.value((x) =>
        hasAxes(x) && hasElements(x) && x.dtype !== "uint32" && x.dtype !== "float32"
      );
      if (!x) return undefined;
      const { shape } = draw.of(x);
      const axis = anAxis(draw, shape.length);
      const length = shape.at(axis)!;
      const float = isFloat(draw.of(x));
      const isInside = (y: Value) => y.values.every((index) => index >= 0 && index < length);
      const known = draw.chance(60)
        ? draw.value((y) =>
          y.dtype === "int32" && y.shape.length <= 2 && (draw.hasEdgeCases && float || isInside(y))
        )
        : undefined;
      const drawnIndices = indices(
        draw,
        draw.pick([[], [1], [2], [4], [0], [2, 3]]),
        length,
        draw.hasEdgeCases && float,
      );
      return [x, known ?? drawnIndices, ...axis === 0 && draw.chance(50) ? [] : [axis]];
    },
    evaluate: gather,
    active: flow.linear((args) => {
      const { shape, values } = gather(args as [Nd, Nd, number]);
      return { shape, values: values.map((value) => value || 0) };
    }),
    isExact: true,
  },
  scatterAdd: {
    draw: (draw) => {
      const x = draw.value((x) => isFloat(x) && hasAxes(x));
      if (!x) return undefined;
      const { shape } = draw.of(x);
      const axis = anAxis(draw, shape.length);
      const along = fromFront(axis, shape.length);
      const fit = (y: Value) =>
        isFloat(y) && y.shape.length === shape.length &&
        y.shape.every((length, i) => i === along || length === shape[i]);
      const updates = draw.value(fit);
      if (!updates) return undefined;
      const count = draw.of(updates).shape[along];
      if (count > 0 && shape[along] === 0) return undefined;
      return [x, indices(draw, [count], shape[along], false), updates, axis];
    },
    evaluate: scatterAdd,
    active: flow.linear(scatterAdd),
    isExact: true,
  },
  concatenate: {
    draw: (draw) => {
      const axis = draw.below(5);
      const list = several(draw, (x, first) =>
        x.shape.length === first.shape.length && hasAxes(first) &&
        x.shape.every((length, i) => i === axis % first.shape.length || length === first.shape[i]));
      const rank = list && draw.of(list[0]).shape.length;
      return rank ? [list, axis % rank - (draw.chance(20) ? rank : 0)] : undefined;
    },
    evaluate: ([list, axis]: [readonly Nd[], number]) => concatenate(list, axis),
    active: flow.linear(([list, axis]: [readonly Nd[], number]) => concatenate(list, axis)),
    isExact: true,
  },
  stack: {
    draw: (draw) => {
      const list = several(draw, (x, first) => sameShape(x.shape, first.shape));
      return list && [list, anAxis(draw, draw.of(list[0]).shape.length + 1)];
    },
    evaluate: ([list, axis]: [readonly Nd[], number]) =>
      concatenate(list.map((x) => expanded(x, axis)), axis),
    active: flow.linear(([list, axis]: [readonly Nd[], number]) =>
      concatenate(list.map((x) => expanded(x, axis)), axis)
    ),
    isExact: true,
  },
  einsum: {
    draw: (draw) => {
      const count = 1 + draw.below(3);
      const operands: Reference[] = [];
      const lengths = new Map<string, number>();
      const terms: string[] = [];
      for (let i = 0; i < count; i++) {
        // einsum may sum an operand before it multiplies, so that infinite terms give Infinity or NaN.
        const x = draw.value((x) =>
          isFloat(x) && hasAxes(x) && x.shape.length <= 3 && x.values.every(Number.isFinite)
        );
        if (!x) return undefined;
        let term = "";
        for (const length of draw.of(x).shape) {
          const free = [..."ijklmnop"].filter((letter) => !term.includes(letter));
          const known = free.filter((letter) => lengths.get(letter) === length);
          const letter = known.length && draw.chance(75)
            ? draw.pick(known)
            : free.find((l) => !lengths.has(l))!;
          lengths.set(letter, length);
          term += letter;
        }
        operands.push(x);
        terms.push(term);
      }
      const output = [...lengths.keys()].filter(() => draw.chance(50));
      if (draw.chance(30)) output.reverse();
      return [`${terms.join(",")}->${output.join("")}`, ...operands];
    },
    evaluate: einsum,
    // A sum of no terms is a constant 0, but its product with an operand has gradient rules for the operand.
    active: flow.all,
    dtype: () => "float64",
    isExact: true,
  },
};

function einsum([equation, ...operands]: [string, ...Nd[]]): Nd {
  const [left, output] = equation.split("->");
  const terms = left.split(",");
  const letters = [...new Set(left.replaceAll(",", ""))];
  const lengthOf = (letter: string) => {
    const i = terms.findIndex((term) => term.includes(letter));
    return operands[i].shape[terms[i].indexOf(letter)];
  };
  const summed = letters.filter((letter) => !output.includes(letter));
  return build([...output].map(lengthOf), (outer) =>
    sum([...positions(summed.map(lengthOf))].map((inner) => {
      const positionOf = (letter: string) =>
        output.includes(letter) ? outer[output.indexOf(letter)] : inner[summed.indexOf(letter)];
      return operands.reduce((product, x, i) => product * at(x, [...terms[i]].map(positionOf)), 1);
    })));
}
