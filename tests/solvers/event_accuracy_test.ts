/** Events are as accurate as the steps of the solver. */
import assert from "node:assert/strict";
import { type EmbeddedTableau, odeint, odeintEvent, stack, type Tensor, tensor } from "../../mod.ts";
import { adaptiveMethods, implicitMethods, type MethodChoice, nameOf } from "../../src/solvers/methods.ts";
import { peekBeneath } from "../../src/compile/loop/ending.ts";
import { narrowed, placeIn, wholeBracket } from "../../src/solvers/sign_change.ts";
import { testLong } from "../devices.ts";

/** An equation with a known solution, and the time at which its first element reaches a value. */
interface Problem {
  readonly name: string;
  readonly f: (t: Tensor, y: Tensor) => Tensor;
  readonly solution: (t: number) => number[];
  readonly level: number;
  readonly time: number;
}

const problems: Problem[] = [
  {
    name: "oscillation",
    f: (_t, y) => stack([y.select(0, 1), y.select(0, 0).neg()]),
    solution: (t) => [Math.cos(t), -Math.sin(t)],
    level: 0.3,
    time: Math.acos(0.3),
  },
  {
    name: "decay",
    f: (_t, y) => y.neg(),
    solution: (t) => [2 * Math.exp(-t)],
    level: 0.5,
    time: Math.log(4),
  },
  {
    name: "logistic growth",
    f: (_t, y) => y.mul(y.neg().add(1)).mul(3),
    solution: (t) => [1 / (1 + 99 * Math.exp(-3 * t))],
    level: 0.9,
    time: Math.log(891) / 3,
  },
  {
    name: "growth that depends on time",
    f: (t, y) => y.mul(t).mul(2),
    solution: (t) => [Math.exp(t * t)],
    level: 3,
    time: Math.sqrt(Math.log(3)),
  },
];

/** Heun's method with an error estimate by Euler's method, without data for interpolation. */
const withoutMiddle: EmbeddedTableau = {
  kind: "embedded",
  name: "without_middle",
  order: 2,
  c: [0, 1],
  a: [[1]],
  b: [0.5, 0.5],
  error: [-0.5, 0.5],
};

/** The smallest tolerance for which a method of a given order takes few steps. */
const tightest = (order: number) => order === 1 ? 1e-4 : order <= 3 ? 1e-6 : 1e-10;

const distance = (a: ArrayLike<number>, b: readonly number[]) =>
  Math.max(...b.map((value, i) => Math.abs(value - a[i])));

const methods: { method: MethodChoice; order: number }[] = [
  ...[...adaptiveMethods, ...implicitMethods].map(({ name, order }) => ({ method: name, order })),
  { method: withoutMiddle, order: withoutMiddle.order },
];

/** Methods whose tests take seconds. */
const slow = new Set<MethodChoice>([
  "adaptive_heun",
  "dopri5",
  "dopri8",
  "implicit_euler",
  "kvaerno3",
  "kvaerno5",
  withoutMiddle,
]);

for (const { method, order } of methods) {
  const test = slow.has(method) ? testLong : Deno.test;
  test(`events of ${nameOf(method)} are as accurate as a solve that ends at the event`, async () => {
    for (const { name, f, solution, level, time } of problems) {
      for (let tolerance = 1e-4; tolerance >= tightest(order) * 0.99; tolerance /= 100) {
        const options = { method, rtol: tolerance, atol: tolerance, maxSteps: 100_000 } as const;
        const y0 = tensor(solution(0), { dtype: "float64" });
        const found = odeintEvent(f, y0, 0, (_t, y) => y.select(0, 0).sub(level), options);
        const [t, y] = [await found.t.item(), await found.y.data()];

        const solved = odeint(f, y0, [0, time], { ...options, jumpTimes: [time] }).select(0, 1);
        const ofSolve = distance(await solved.data(), solution(time));
        const speed = Math.abs(solution(time + 1e-6)[0] - solution(time - 1e-6)[0]) / 2e-6;
        const allowed = 3 * ofSolve + 0.1 * tolerance;
        const where = `${name}, tolerance ${tolerance}: a solve is off by ${ofSolve}`;
        assert.ok(Math.abs(t - time) <= allowed / speed, `${where}, the time by ${Math.abs(t - time)}`);
        const ofState = distance(y, solution(t));
        assert.ok(ofState <= allowed, `${where}, the state at the event by ${ofState}`);
        assert.ok(Math.abs(y[0] - level) <= 1e-12, `${where}, the event function is ${y[0] - level}`);
      }
    }
  });
}

const functions: [name: string, f: (x: number) => number, change: number][] = [
  ["a line", (x) => 0.3 - x, 0.3],
  ["a steep line", (x) => 1e12 * (0.7 - x), 0.7],
  ["a line through 1", (x) => 1 - x, 1],
  ["a curve with an infinite slope", (x) => Math.cbrt(0.6 - x), 0.6],
  ["a flat curve", (x) => (0.45 - x) ** 9, 0.45],
  ["an exponential", (x) => 1 - Math.exp(50 * (x - 0.99)), 0.99],
  ["a step", (x) => x < 0.123 ? 1 : -1, 0.123],
  ["a step of unequal sides", (x) => x < 0.9 ? 1e-9 : -1e9, 0.9],
  ["a function that is NaN from some point on", (x) => x < 0.25 ? 1 : NaN, 0.25],
  ["a function that is 0 from some point on", (x) => x < 0.8 ? 1 : 0, 0.8],
];

/** The sign change of a function on the host. */
function signChange(f: (x: number) => number, tolerance: number): number {
  const number = (x: number) => tensor(x, { dtype: "float64" });
  const hostOf = (x: Tensor) => peekBeneath(x)![0];
  let bracket = wholeBracket(number(f(0)), number(f(1)));
  while (hostOf(bracket.high) - hostOf(bracket.low) > tolerance) {
    const place = placeIn(bracket, number(tolerance));
    bracket = narrowed(bracket, place, number(f(hostOf(place))));
  }
  return hostOf(bracket.high);
}

for (const [name, f, change] of functions) {
  Deno.test(`finding the sign change of ${name} takes at most one evaluation more than bisection`, () => {
    for (const tolerance of [1e-3, 1e-9, 2 ** -48]) {
      let evaluations = 0;
      const found = signChange((x) => (evaluations++, f(x)), tolerance);
      assert.ok(evaluations - 2 <= Math.ceil(Math.log2(1 / tolerance)) + 1, `${evaluations} evaluations`);
      // A zero ends the search at any position.
      const isFound = Math.abs(found - change) <= tolerance || f(found) === 0;
      assert.ok(isFound, `${found} for ${change}, tolerance ${tolerance}`);
    }
  });
}

Deno.test("finding the sign change of a smooth function takes far fewer evaluations than bisection", () => {
  let evaluations = 0;
  const found = signChange((x) => (evaluations++, Math.cos(2 * x)), 2 ** -48);
  assert.ok(Math.abs(found - Math.PI / 4) <= 2 ** -48);
  assert.ok(evaluations - 2 <= 12, `${evaluations} evaluations`);
});
