/** Reductions, products and recurrences. */
import { at, build, matmul, type Nd, positions, reduce } from "../tensor/nd.ts";
import {
  anAxis,
  type Argument,
  type Draw,
  flow,
  fromFront,
  hasElements,
  isFloat,
  isNumber,
  type Rule,
  someAxes,
  type Value,
} from "./rule.ts";

type Axes = number | readonly number[] | undefined;
type Elements = (x: number[]) => number;
interface Keeping {
  readonly keepDims?: boolean;
}

const sum: Elements = (x) => x.reduce((total, value) => total + value, 0);
const mean: Elements = (x) => sum(x) / x.length;
const productOf: Elements = (x) => x.reduce((result, value) => result * value, 1);
const variance: Elements = (x) => mean(x.map((value) => (value - mean(x)) ** 2));
const largest: Elements = (x) => Math.max(...x);
const smallest: Elements = (x) => Math.min(...x);
const logsumexp: Elements = (x) => {
  const maximum = largest(x);
  return Math.abs(maximum) === Infinity
    ? maximum
    : Math.log(sum(x.map((value) => Math.exp(value - maximum)))) + maximum;
};

function axesOf(axes: Axes, rank: number): number[] {
  if (axes === undefined) return Array.from({ length: rank }, (_, axis) => axis);
  return ([axes].flat() as number[]).map((axis) => fromFront(axis, rank));
}

function someOrAllAxes(draw: Draw, rank: number): Argument[] {
  const axes = draw.pick<Axes>([undefined, someAxes(draw, rank), rank > 0 ? anAxis(draw, rank) : undefined]);
  const options = draw.chance(30) ? [{ keepDims: draw.chance(80) }] : [];
  return axes === undefined && options.length === 0 ? [] : [axes, ...options];
}

const along = (f: Elements) => ([x, axes, options]: [Nd, Axes?, Keeping?]): Nd =>
  reduce(x, axesOf(axes, x.shape.length), f, options?.keepDims);

function reduction(f: Elements, options: Partial<Rule> = {}, accepts = isNumber): Rule {
  return {
    draw: (draw) => {
      const x = draw.value(accepts);
      return x && [x, ...someOrAllAxes(draw, draw.of(x).shape.length)];
    },
    evaluate: along(f),
    active: flow.linear(along(sum)),
    ...options,
  };
}

const isFull = (x: Value) => isNumber(x) && hasElements(x);
const isFullFloat = (x: Value) => isFloat(x) && hasElements(x);

/** The elements of each reduction group, with their activity. */
function groups(x: Value, axes: Axes): { value: number; active: number }[][] {
  const list = axesOf(axes, x.shape.length);
  const indexed = { shape: x.shape, values: x.values.map((_, i) => i) };
  const found: { value: number; active: number }[][] = [];
  reduce(
    indexed,
    list,
    (elements) => found.push(elements.map((i) => ({ value: x.values[i], active: x.active[i] }))),
  );
  return found;
}

/**
 * The smallest distance between the extreme element of a group and any other element, if one of the two is
 * active.
 */
function lead([x, axes]: [Value, Axes?], sign: 1 | -1): number {
  return Math.min(
    Infinity,
    ...groups(x, axes).map((elements) => {
      const [first, ...rest] = elements.toSorted((a, b) => sign * (b.value - a.value));
      return Math.min(
        Infinity,
        ...rest.filter((other) => other.active || first.active).map((other) =>
          Math.abs(first.value - other.value)
        ),
      );
    }),
  );
}

/** The smallest value of `f` over the groups with an active element. */
function leastOfGroups(x: Value, axes: Axes, f: Elements): number {
  const active = groups(x, axes).filter((group) => group.some((element) => element.active));
  return Math.min(Infinity, ...active.map((group) => f(group.map(({ value }) => value))));
}

/**
 * A condition on which elements are not zero. A rounding error would decide it, so that operands are exact. It
 * can jump if the element of a group that `nearest` selects by its absolute value is zero.
 */
function truth(f: (x: number[]) => boolean, nearest: Elements): Rule {
  return reduction((x) => Number(f(x)), {
    active: flow.none,
    margin: ([x, axes]) => leastOfGroups(x, axes, (values) => nearest(values.map(Math.abs))),
    dtype: () => "bool",
    isExact: true,
  }, ({ dtype, isExact }) => isExact || dtype === "bool" || dtype === "int32");
}

function extreme(f: Elements, sign: 1 | -1): Rule {
  return reduction(f, {
    margin: (args) => lead(args as [Value, Axes?], sign),
    active: ([x, axes]: [Value, Axes?], result) => ({
      shape: result.shape,
      values: groups(x, axes).map((elements) => {
        const best = f(elements.map(({ value }) => value));
        return Number(elements.some(({ value, active }) => active && !(value !== best)));
      }),
    }),
    isExact: true,
  }, isFull);
}

function position(f: Elements, sign: 1 | -1): Rule {
  return {
    draw: (draw) => {
      const x = draw.value((x) => isFull(x) && x.shape.length > 0 && !x.values.includes(NaN));
      return x && [x, ...draw.chance(50) ? [] : [anAxis(draw, draw.of(x).shape.length)]];
    },
    evaluate: ([x, axis = -1]: [Nd, number?]) =>
      reduce(x, [fromFront(axis, x.shape.length)], (elements) => elements.indexOf(f(elements))),
    dtype: () => "int32",
    active: flow.none,
    margin: ([x, axis = -1]) => lead([x, axis], sign),
    isExact: true,
  };
}

function cumsum([x, axis = -1]: [Nd, number?]): Nd {
  const index = fromFront(axis, x.shape.length);
  return build(
    x.shape,
    (position) => sum(Array.from({ length: position[index] + 1 }, (_, i) => at(x, position.with(index, i)))),
  );
}

/** An operation whose elements depend on all elements along one axis. */
function normalized(f: (value: number, all: number[]) => number): Rule {
  const evaluate = ([x, axis = -1]: [Nd, number?]): Nd => {
    const index = fromFront(axis, x.shape.length);
    return build(
      x.shape,
      (position) =>
        f(at(x, position), Array.from({ length: x.shape[index] }, (_, i) => at(x, position.with(index, i)))),
    );
  };
  return {
    draw: (draw) => {
      const x = draw.value((x) => isFullFloat(x) && x.shape.length > 0);
      return x && [x, ...draw.chance(50) ? [] : [anAxis(draw, draw.of(x).shape.length)]];
    },
    evaluate,
    active: flow.all,
  };
}

function product([a, b]: [Nd, Nd]): Nd {
  const [left, right] = [a.shape.length === 1, b.shape.length === 1];
  const { shape, values } = matmul(
    left ? { ...a, shape: [1, ...a.shape] } : a,
    right ? { ...b, shape: [...b.shape, 1] } : b,
  );
  const drop = [...left ? [shape.length - 2] : [], ...right ? [shape.length - 1] : []];
  return { shape: shape.filter((_, axis) => !drop.includes(axis)), values };
}

function fitsProduct(a: readonly number[], b: readonly number[]): boolean {
  if (a.length === 0 || b.length === 0 || a.at(-1) !== b.at(b.length === 1 ? -1 : -2)) return false;
  const [p, q] = [a.slice(0, -2), b.slice(0, -2)];
  return b.length <= 2 || a.length <= 2 ||
    Array.from({ length: Math.min(p.length, q.length) }, (_, i) => [p.at(-1 - i), q.at(-1 - i)])
      .every(([m, n]) => m === n || m === 1 || n === 1);
}

interface RecurrenceOptions {
  readonly axis?: number;
  readonly initial?: Nd;
  readonly complex?: boolean;
}

/** Computes one step after the other. Real and imaginary parts lie along the last axis but one. */
function linearRecurrence([a, b, options = {}]: [Nd, Nd, RecurrenceOptions?]): Nd {
  const { initial, complex } = options;
  const rank = b.shape.length;
  const axis = fromFront(options.axis ?? 0, rank);
  const known = new Map<string, number>();
  const part = (position: number[], of: number) => complex ? position.with(rank - 2, of) : position;
  for (let i = 0; i < b.shape[axis]; i++) {
    for (const position of positions(b.shape)) {
      if (position[axis] !== i) continue;
      const before = (of: number) => {
        const place = part(position, of);
        if (i > 0) return known.get(`${place.with(axis, i - 1)}`)!;
        return initial ? at(initial, place.toSpliced(axis, 1)) : 0;
      };
      const factor = (of: number) => at(a, part(position, of));
      const row = position[rank - 2];
      const carried = i === 0 && !initial
        ? 0
        : !complex
        ? factor(0) * before(0)
        : row === 0
        ? factor(0) * before(0) - factor(1) * before(1)
        : factor(0) * before(1) + factor(1) * before(0);
      known.set(`${position}`, carried + at(b, position));
    }
  }
  return build(b.shape, (position) => known.get(`${position}`)!);
}

/** Whether shape `a` broadcasts to shape `b`. */
const broadcastsTo = (a: readonly number[], b: readonly number[]) =>
  a.length <= b.length && a.toReversed().every((length, i) => length === 1 || length === b.at(-1 - i));

/** The Thomas algorithm without pivoting. */
function tridiagonalSolve([lower, diagonal, upper, rhs]: [Nd, Nd, Nd, Nd]): Nd {
  const n = rhs.shape.at(-1)!;
  const values = new Map<string, number>();
  for (const outer of positions(rhs.shape.slice(0, -1))) {
    const [p, q]: [number[], number[]] = [[], []];
    for (let i = 0; i < n; i++) {
      const place = [...outer, i];
      const below = i === 0 ? 0 : at(lower, place);
      const pivot = at(diagonal, place) - below * (p[i - 1] ?? 0);
      p.push(at(upper, place) / pivot);
      q.push((at(rhs, place) - below * (q[i - 1] ?? 0)) / pivot);
    }
    for (let i = n - 1, x = 0; i >= 0; i--) {
      x = i === n - 1 ? q[i] : q[i] - p[i] * x;
      values.set(`${[...outer, i]}`, x);
    }
  }
  return build(rhs.shape, (position) => values.get(`${position}`)!);
}

/** The smallest diagonal dominance of a row. Pivots stay away from zero while it is positive. */
function dominance([lower, diagonal, upper, rhs]: [Nd, Nd, Nd, Nd]): number {
  return Math.min(
    Infinity,
    ...build(
      rhs.shape,
      (place) => Math.abs(at(diagonal, place)) - Math.abs(at(lower, place)) - Math.abs(at(upper, place)),
    ).values,
  );
}

export const algebraRules: Readonly<Record<string, Rule>> = {
  sum: reduction(sum, { isExact: true }),
  max: extreme(largest, 1),
  min: extreme(smallest, -1),
  mean: reduction(mean, { isExact: true }, isFloat),
  variance: reduction(variance, {}, isFloat),
  std: reduction((x) => Math.sqrt(variance(x)), {
    margin: ([x, axes]) => leastOfGroups(x, axes, (values) => Math.sqrt(variance(values)) - 1e-6),
    isSingular: ([x, axes]) =>
      groups(x, axes).some((group) => variance(group.map(({ value }) => value)) < 1e-12),
  }, isFullFloat),
  prod: reduction(productOf, {}, (x) => isFloat(x) && x.values.every(Number.isFinite)),
  any: truth((x) => x.some((value) => value !== 0), largest),
  all: truth((x) => x.every((value) => value !== 0), smallest),
  norm: reduction((x) => Math.sqrt(x.reduce((sum, value) => sum + value ** 2, 0)), {
    margin: ([x, axes]) => leastOfGroups(x, axes, (values) => Math.hypot(...values)),
  }, isFullFloat),
  argmax: position(largest, 1),
  argmin: position(smallest, -1),
  cumsum: {
    draw: (draw) => {
      const x = draw.value((x) => isNumber(x) && x.shape.length > 0);
      return x && [x, ...draw.chance(40) ? [] : [anAxis(draw, draw.of(x).shape.length)]];
    },
    evaluate: cumsum,
    active: flow.linear(cumsum),
    isExact: true,
  },
  logsumexp: reduction(logsumexp, {}, isFullFloat),
  softmax: normalized((value, all) =>
    Math.exp(value - largest(all)) / sum(all.map((x) => Math.exp(x - largest(all))))
  ),
  logSoftmax: normalized((value, all) => value - logsumexp(all)),
  matmul: {
    draw: (draw) => {
      const a = draw.value((x) => isFloat(x) && x.shape.length > 0);
      const b = a && draw.value((y) => isFloat(y) && fitsProduct(draw.of(a).shape, y.shape));
      return a && b && [a, b];
    },
    evaluate: product,
    active: flow.products(product),
    isExact: true,
  },
  linearRecurrence: {
    draw: (draw) => {
      const b = draw.value((x) => isFloat(x) && x.shape.length > 0);
      if (!b) return undefined;
      const { shape } = draw.of(b);
      const axis = anAxis(draw, shape.length);
      const index = fromFront(axis, shape.length);
      const complex = shape.length >= 2 && shape.at(-2) === 2 && index !== shape.length - 2 &&
        draw.chance(60);
      const a = draw.value((x) =>
        isFloat(x) && broadcastsTo(x.shape, shape) && (!complex || x.shape.at(-2) === 2) &&
        x.values.every((value) => Math.abs(value) < 2)
      );
      const state = shape.toSpliced(index, 1);
      const initial = draw.chance(40)
        ? draw.value((x) => isFloat(x) && broadcastsTo(x.shape, state))
        : undefined;
      const options = {
        ...index === 0 && draw.chance(50) ? {} : { axis },
        ...initial ? { initial } : {},
        ...complex ? { complex } : {},
      };
      return a && [a, b, ...Object.keys(options).length ? [options] : []];
    },
    evaluate: linearRecurrence,
    active: flow.all,
  },
  tridiagonalSolve: {
    draw: (draw) => {
      const rhs = draw.value((x) => isFloat(x) && x.shape.length > 0);
      if (!rhs) return undefined;
      const { shape } = draw.of(rhs);
      const n = shape.at(-1)!;
      const band = (accepts: (x: number) => boolean): Argument => {
        const found = draw.value((x) =>
          isFloat(x) && x.shape.at(-1) === n && broadcastsTo(x.shape, shape) && x.values.every(accepts)
        );
        return found && draw.chance(80) ? found : {
          constant: Array.from({ length: n }, (_, i) => accepts(3) ? 3 + i / 2 : i / 4 - 0.5),
          shape: [n],
          dtype: "float64",
        };
      };
      const small = (x: number) => Math.abs(x) < 0.9;
      return [band(small), band((x) => Math.abs(x) > 2 && Math.abs(x) < 20), band(small), rhs];
    },
    evaluate: tridiagonalSolve,
    active: flow.all,
    dtype: () => "float64",
    margin: dominance,
  },
};
