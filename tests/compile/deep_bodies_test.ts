/**
 * Bodies of very many operations: no walk of a graph is recursive, visits a shared node twice, or fuses
 * without bound.
 */
import assert from "node:assert/strict";
import {
  concatenate,
  explain,
  grad,
  jit,
  key,
  normal,
  odeint,
  scan,
  type ScanOptions,
  type SolveOptions,
  type Tensor,
  tensor,
  zeros,
} from "../../mod.ts";
import { testLong } from "../devices.ts";
import { assertAgree } from "../golden.ts";
import { solved } from "../loops.ts";

const operations = 10_000;
const float64 = { dtype: "float64" } as const;
const y0 = tensor([[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]], float64);
const weight = normal(key(1), [3, 3], float64).mul(0.1);
const parameter = tensor([0.25, -0.5, 1], float64);

/** Applies a function `count` times. */
function repeat(count: number, x: Tensor, f: (x: Tensor, i: number) => Tensor): Tensor {
  for (let i = 0; i < count; i++) x = f(x, i);
  return x;
}

/** Functions of a state and a parameter with about `n` operations. */
const bodies: Record<string, (y: Tensor, p: Tensor, n: number) => Tensor> = {
  "a chain of sums and products": (y, p, n) =>
    repeat(n / 2, y.add(p), (x, i) => x.mul(0.9999).add(1e-4 * i / n)),
  "a chain of functions": (y, p, n) => repeat(n / 2, y.add(p), (x) => x.mul(1.001).tanh()),
  "one value that many operations read": (y, p, n) =>
    Array.from({ length: n / 2 }, (_, i) => y.mul(1 / (i + 1))).reduce((a, b) => a.add(b)).mul(0.1).add(p),
  "readers of a parameter": (y, p, n) => repeat(n / 3, y, (x, i) => x.add(p.mul(1 / (i + 1))).mul(0.99)),
  "readers of a matrix": (y, p, n) => repeat(n / 4, y, (x) => x.matmul(weight).add(p).mul(0.99)),
  "shared values": (y, p, n) => repeat(n / 3, y.add(p), (x) => x.add(x.mul(0.5)).mul(0.6)),
  "shared sums": (y, p) => repeat(60, y.add(p), (x) => x.add(x)).mul(2 ** -60).tanh(),
  "shared conditions": (y, p, n) =>
    repeat(n / 3, y.greater(0), (x) => x.xor(x.and(y.less(0.25)))).where(y, p.mul(0.5).add(y)),
  "reductions": (y, p, n) => repeat(n / 6, y.add(p), (x) => x.sub(x.sum(-1, { keepDims: true }).mul(0.1))),
  "views": (y, p, n) => repeat(n / 6, y.add(p), (x) => x.flip(-1).reshape([3, 2]).reshape([2, 3]).mul(0.999)),
  "concatenations": (y, p, n) =>
    repeat(n / 6, y.add(p), (x) => concatenate([x.slice(-1, 1), x.slice(-1, 0, 1)], -1).mul(0.999)),
  "operations before the loop": (y, p, n) =>
    y.add(repeat(n / 2, p, (x, i) => x.mul(0.9999).add(1e-4 * i / n))).tanh(),
};

type Inputs = { y: Tensor; p: Tensor };

/** The results of a function and its gradients. */
const withGradients = (f: (inputs: Inputs) => Tensor, inputs: Inputs): Tensor[] => [
  f(inputs),
  ...Object.values(grad((inputs: Inputs) => f(inputs).square().sum())(inputs)),
];

const rows = zeros([2], float64);

const inScan = (options: ScanOptions) => (body: (y: Tensor, p: Tensor) => Tensor) => ({ y, p }: Inputs) =>
  scan(
    (y: Tensor): [Tensor, Tensor] => {
      const next = body(y, p);
      return [next, next];
    },
    y,
    rows,
    options,
  )[1];

const inSolve = (options: SolveOptions) => (body: (y: Tensor, p: Tensor) => Tensor) => ({ y, p }: Inputs) =>
  odeint((_, y) => body(y, p), y, [0, 0.5], { method: "euler", ...options });

/** Ways to run a body, compiled and step by step. */
const ways: Record<
  string,
  readonly ((body: (y: Tensor, p: Tensor) => Tensor) => (inputs: Inputs) => Tensor)[]
> = {
  "scan, fused": [inScan({ executor: "fused" }), inScan({ compile: false })],
  "scan, stepped": [inScan({ executor: "stepped" }), inScan({ compile: false })],
  "odeint, direct": [inSolve({}), inSolve({ compile: false })],
  "odeint, continuous": [
    inSolve({ adjoint: "continuous" }),
    inSolve({ adjoint: "continuous", compile: false }),
  ],
};

/** Bodies that are tested each time. The compiler takes seconds for the others. */
const quick = new Set(["views"]);

/** Bodies of solves. A solve is a loop like that of `scan`, which has all bodies, with more operations before it. */
const solvedBodies = new Set(["a chain of functions", "shared values", "operations before the loop"]);

for (const [name, body] of Object.entries(bodies)) {
  for (const [way, [compiled, stepByStep]] of Object.entries(ways)) {
    if (way.startsWith("odeint") && !solvedBodies.has(name)) continue;
    const test = way === "scan, fused" && quick.has(name) ? Deno.test : testLong;
    test(`${operations} operations, ${name}: ${way}`, async () => {
      const run = (y: Tensor, p: Tensor) => body(y, p, operations);
      const inputs = { y: y0, p: parameter };
      const found = solved(true, () => withGradients(compiled(run), inputs));
      await assertAgree(way, found, withGradients(stepByStep(run), inputs), 1e-9);
    });
  }
  // A function has no loop, so there this body is the chain of sums and products.
  if (name === "operations before the loop") continue;
  const test = quick.has(name) ? Deno.test : testLong;
  test(`${operations} operations, ${name}: jit`, async () => {
    const f = ({ y, p }: Inputs) => body(y, p, operations);
    const inputs = { y: y0, p: parameter };
    const traced = jit((inputs: Inputs) => withGradients(f, inputs));
    traced(inputs);
    await assertAgree("jit", traced(inputs), withGradients(f, inputs), 1e-12);
  });
}

Deno.test("explain prints an expression with shared nodes on a line of bounded length", () => {
  const text =
    explain(() => inScan({})((y) => repeat(40, y, (x) => x.abs().pow(1.5)))({ y: y0, p: parameter })).text;
  assert.match(text, /forward loop/);
  assert.ok(text.length < 1e6, `${text.length} characters`);
});
