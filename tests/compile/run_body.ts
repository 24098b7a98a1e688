/** Runs random bodies of loops, compiled and step by step, and compares the results. */
import {
  concatenate,
  type DType,
  foldIn,
  jit,
  key as makeKey,
  normal,
  scan,
  type ScanOptions,
  type Tensor,
  treeMap,
  valueAndGrad,
} from "../../mod.ts";
import { cpuDevice, currentDevice, setCurrentDevice } from "../../src/device/current.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import type { RandomBody, Step } from "./random_body.ts";

/**
 * Applies one operation. Operands with unsuitable shapes are converted first, so that every body is valid.
 */
function operate({ op, params }: Step, [a, b, c]: Tensor[], weights: Tensor[]): Tensor {
  const [p, q] = params;
  const length = a.shape.at(-1)!;
  const tame = (x: Tensor) => x.mul(0.5);
  switch (op) {
    case "where":
      return a.greater(fit(b, a)).where(fit(c, a), a.mul(0.5));
    case "add":
    case "sub":
    case "mul":
    case "maximum":
    case "minimum":
      return tame(a[op](p % 3 === 0 ? p * 0.25 : fit(b, a)));
    case "softmax":
      return a.softmax(-1);
    case "sum":
      return tame(a.sum(-1, { keepDims: true }));
    case "max":
      return a.max(-1, { keepDims: true });
    case "mean":
      return a.mean(-1, { keepDims: true });
    case "slice": {
      const start = p % length;
      return a.slice(-1, start, start + 1 + q % (length - start), 1 + params[2] % 2);
    }
    case "flip":
      return a.flip(-1);
    case "pad":
      return a.pad(a.shape.map((_, axis) => axis === a.rank - 1 ? [p % 3, q % 3] : [0, 0]));
    case "concatenate":
      return a.rank === b.rank && a.rank === 2 ? concatenate([a, b], 1) : a;
    case "outer": {
      const [x, y] = [flat(a), flat(b)];
      return tame(x.expandDims(2).mul(y.expandDims(1)));
    }
    case "matrix":
      return length % 2 === 0 && a.rank === 2 ? a.reshape([a.shape[0], length / 2, 2]) : flat(a);
    case "transpose":
      return a.rank === 3 ? a.transpose() : a;
    case "matvec": {
      if (a.rank !== 3) return a;
      const vector = fit(flat(b).slice(1, 0, 1), a.select(1, 0));
      return tame(a.matmul(vector.expandDims(2)).squeeze(2));
    }
    case "linear": {
      const x = flat(a);
      const weight = weights[p % 2].slice(0, 0, x.shape[1]);
      return tame(
        fit(x, x.slice(1, 0, 1).broadcastTo([x.shape[0], weight.shape[0]])).matmul(weight).add(weights[2]),
      );
    }
    case "linear3": {
      if (a.rank !== 3) return a.sigmoid();
      const weight = weights[0].slice(0, 0, 1).broadcastTo([length, weights[0].shape[1]]);
      return tame(a.matmul(weight));
    }
    case "widen":
      return a.rank === 2 ? a.expandDims(1).broadcastTo([a.shape[0], 1 + p % 3, length]) : a;
    case "scale":
      return a.mul(weights[3]);
    default:
      return (a as unknown as Record<string, () => Tensor>)[op]();
  }
}

function flat(x: Tensor): Tensor {
  return x.flatten(1);
}

/**
 * Converts a value to the shape of another. If the numbers of channels differ, averages the channels and
 * broadcasts the mean.
 */
function fit(x: Tensor, like: Tensor): Tensor {
  const shape = like.shape;
  const two = flat(x);
  const last = shape.at(-1)!;
  const channels = two.shape[1] === last
    ? two
    : two.shape[1] > last
    ? two.slice(1, 0, last)
    : two.mean(1, { keepDims: true }).broadcastTo([two.shape[0], last]);
  return shape.length === 3 ? channels.expandDims(1).broadcastTo(shape) : channels.broadcastTo(shape);
}

/** The final states, the outputs, and the gradients of all inputs of the loop. */
type LoopResult = Record<string, Float64Array>;

/** Further options of running a body. */
interface RunOptions {
  /** Whether to run under `jit`. The third call counts; the first two calls get other values. */
  readonly jit?: boolean;
  /** Called for every loop that runs compiled. */
  readonly onLoop?: () => void;
}

/** Runs a body, and its gradient. */
export async function runBody(
  body: RandomBody,
  dtype: DType,
  options: ScanOptions,
  { jit: jitted = false, onLoop = () => {} }: RunOptions = {},
): Promise<LoopResult> {
  const { batch, steps, states, channels, width, operations, seed } = body;
  const draw = (n: number, shape: number[], scale = 1) =>
    normal(foldIn(makeKey(seed), n), shape, { dtype, standardDeviation: scale });
  const inputs = {
    states: states.map((channels, i) => draw(i, [batch, channels])),
    rows: draw(10, [steps + 1, batch, channels]),
    time: draw(11, [steps], 0.3),
    weights: [
      draw(12, [width, width], 0.5),
      draw(13, [width, width], 0.5),
      draw(14, [width], 0.5),
      draw(15, [], 0.5),
    ],
    constant: draw(16, [batch, 3]),
  };
  const { weights, constant } = inputs;
  const step = (
    carry: Tensor[],
    { row, next: later, time }: { row: Tensor; next: Tensor; time: Tensor },
  ): [Tensor[], Tensor[]] => {
    const moment = carry[0].zerosLike().slice(1, 0, 1).add(time);
    const project = (x: Tensor) =>
      operate({ op: "linear", args: [], params: [0, 0, 0] }, [x, x, x], weights).tanh();
    const values = [
      ...carry,
      row,
      moment,
      constant,
      constant.mul(row.slice(1, 0, 1)),
      row.mul(time),
      row.cumsum(1).mul(0.5),
      carry[0].mul(time).add(0.1),
      project(later).sub(project(row).expandDims(1).mul(0.5).squeeze(1)),
    ];
    for (const operation of operations) {
      values.push(operate(operation, operation.args.map((i) => values[i]), weights));
    }
    const last = values.at(-1)!;
    const next = carry.map((state, i) =>
      state.mul(0.8).add(fit(values.at(-1 - i % 2)!, state).tanh().mul(0.3))
    );
    return [next, [flat(last).sum(1), next[0]]];
  };
  type Given = Pick<typeof inputs, "states" | "rows" | "time">;
  const loop = ({ states, rows, time }: Given) => {
    const sequences = { row: rows.slice(0, 0, -1), next: rows.slice(0, 1), time };
    const [final, outputs] = scan(step, states, sequences, options) as [Tensor[], Tensor[]];
    return { final, outputs };
  };
  const weigh = (x: Tensor, i: number) =>
    x.mul(normal(foldIn(makeKey(seed + 1), i), x.shape, { dtype })).sum();
  const total = (given: Given) => {
    const { final, outputs } = loop(given);
    return [...final, ...outputs].map(weigh).reduce((sum, term) => sum.add(term));
  };
  const compute = (given: Given) => {
    const all = { ...inputs, ...given };
    const [, gradients] = valueAndGrad((given: typeof all) => total(given))(all);
    return { ...loop(given), gradients };
  };
  const given = { states: inputs.states, rows: inputs.rows, time: inputs.time };
  let result!: ReturnType<typeof compute>;
  observeLoops(onLoop, () => {
    if (!jitted) return void (result = compute(given));
    const run = jit(compute);
    for (const factor of [0.5, 1.5]) run(treeMap(given, (x: Tensor) => x.mul(factor)));
    result = run(given);
  });
  const { final, outputs, gradients } = result;
  const named: [string, Tensor][] = [
    ...final.map((x, i): [string, Tensor] => [`final state ${i}`, x]),
    ...outputs.map((x, i): [string, Tensor] => [`output ${i}`, x]),
    ...gradients.states.map((x: Tensor, i: number): [string, Tensor] => [`gradient of state ${i}`, x]),
    ["gradient of the rows", gradients.rows],
    ["gradient of the times", gradients.time],
    ...gradients.weights.map((x: Tensor, i: number): [string, Tensor] => [`gradient of weight ${i}`, x]),
    ["gradient of a constant", gradients.constant],
  ];
  const values: LoopResult = {};
  for (const [name, x] of named) values[name] = Float64Array.from(await x.data());
  return values;
}

/**
 * Options of the compiled run. Every third body keeps only some of its states; some run stepped, or with
 * little memory.
 */
export function optionsOf({ seed }: RandomBody): ScanOptions {
  return {
    checkpoint: seed % 3 === 0,
    executor: seed % 4 === 1 ? "stepped" : undefined,
    memory: seed % 5 === 2 ? 4_000 : undefined,
  };
}

/** Tolerance between compiled and step-by-step results, relative to the largest value of each array. */
export const tolerances = { float64: 1e-10, float32: 1e-5 } as const;

/**
 * Compares the results of a body, compiled and step by step. Returns the difference, and the number of
 * compiled loops. Some bodies add numbers that cancel, so that float32 keeps few digits in any order of
 * operations. A float32 difference above the tolerance is therefore measured relative to the distance of the
 * step-by-step results from float64.
 */
export async function difference(
  body: RandomBody,
  dtype: "float32" | "float64",
  { jit = false, ...options }: ScanOptions & { jit?: boolean } = optionsOf(body),
): Promise<Difference & { loops: number }> {
  let loops = 0;
  const [compiled, plain] = [
    await runBody(body, dtype, options, { jit, onLoop: () => loops++ }),
    await runBody(body, dtype, { compile: false }),
  ];
  const found = compare(compiled, plain);
  if (dtype === "float64" || found.worst <= tolerances.float32) return { ...found, loops };
  const device = currentDevice();
  setCurrentDevice(cpuDevice());
  try {
    return { ...compare(compiled, plain, await runBody(body, "float64", { compile: false })), loops };
  } finally {
    setCurrentDevice(device);
  }
}

/** The largest difference, and its position. */
interface Difference {
  readonly worst: number;
  readonly where: string;
}

/**
 * The largest difference between two results, relative to the largest value of each array. With `exact`
 * results, relative to the error of the second result if that exceeds float32's tolerance.
 */
export function compare(a: LoopResult, b: LoopResult, exact?: LoopResult): Difference {
  let [worst, where] = [0, ""];
  const largest = (values: Float64Array) =>
    values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  for (const [name, values] of Object.entries(a)) {
    const error = exact ? largest(b[name].map((value, i) => value - exact[name][i])) : 0;
    const scale = Math.max(1e-3, largest(values), error / tolerances.float32);
    values.forEach((value, i) => {
      const difference = Math.abs(value - b[name][i]) / scale;
      if (difference > worst || Number.isNaN(difference)) {
        [worst, where] = [difference, `${name}, element ${i}`];
      }
    });
  }
  return { worst, where };
}
