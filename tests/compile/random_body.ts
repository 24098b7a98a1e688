/**
 * Random bodies of loops: graphs of operations over a state, rows and weights. A body is plain data, so that
 * a failing body can be shrunk and printed as code.
 */
import type { DType } from "../../mod.ts";
import { threefry2x32 } from "../../src/tensor/random.ts";

/** One operation on values with earlier numbers. */
export interface Step {
  readonly op: string;
  readonly args: readonly number[];
  readonly params: readonly number[];
}

/** A loop: its inputs, and the operations of its body. */
export interface RandomBody {
  readonly seed: number;
  readonly batch: number;
  readonly steps: number;
  /** Channels of each state, `(batch, channels)`. */
  readonly states: readonly number[];
  /** Channels of the rows, `(steps, batch, channels)`. A second sequence has one number per step. */
  readonly channels: number;
  /** Channels that the weights map between. */
  readonly width: number;
  readonly operations: readonly Step[];
}

type Random = (below: number) => number;

function randomNumbers(seed: number): Random {
  let count = 0;
  return (below) => threefry2x32([seed, 0xb0d7], [count++, 0])[0] % below;
}

/**
 * Initial values of every body, before its operations: states, a row, a number of the step, constants, and
 * one function of the row and of the next row.
 */
function given(body: Pick<RandomBody, "states" | "width">): number {
  return body.states.length + 2 + 6;
}

const unary = [
  "tanh",
  "sigmoid",
  "sin",
  "softplus",
  "relu",
  "abs",
  "square",
  "neg",
  "silu",
  "softmax",
  "cos",
] as const;
const binary = ["add", "sub", "mul", "maximum", "minimum", "where"] as const;
const structural = [
  "sum",
  "max",
  "mean",
  "slice",
  "flip",
  "pad",
  "concatenate",
  "outer",
  "matrix",
  "transpose",
  "matvec",
  "linear",
  "linear",
  "linear3",
  "widen",
  "scale",
] as const;

/** Draws a body. */
export function randomBody(seed: number): RandomBody {
  const random = randomNumbers(seed);
  const pick = <T>(list: readonly T[]) => list[random(list.length)];
  const body = {
    seed,
    batch: pick([1, 2, 3, 4, 5, 8, 9, 17]),
    steps: pick([1, 2, 3, 5, 8]),
    states: pick([[3], [1], [4, 2], [6], [2, 2], [12]]),
    channels: pick([1, 2, 3, 5]),
    width: pick([1, 2, 4, 7, 13]),
  };
  const count = 2 + random(10);
  const operations = Array.from({ length: count }, (_, i): Step => {
    // Use at least one weight matrix, at the end: gradients of weights take the most code.
    const op = i === count - 1
      ? "linear"
      : pick([...unary, ...binary, ...binary, ...structural, ...structural]);
    // Later values are more likely, so that graphs become deep.
    const recent = () => {
      const known = given(body) + i;
      return Math.max(random(known), random(known));
    };
    return { op, args: [recent(), recent(), recent()], params: [random(7), random(7), random(7)] };
  });
  return { ...body, operations };
}

/** Shrinks a failing body by removing operations and reducing lengths, as long as it fails. */
export async function shrink(
  body: RandomBody,
  fails: (body: RandomBody) => Promise<boolean>,
): Promise<RandomBody> {
  for (;;) {
    const candidates: RandomBody[] = [
      ...body.operations.map((_, i) => withoutOperation(body, i)),
      ...(body.steps > 1 ? [{ ...body, steps: 1 }, { ...body, steps: body.steps - 1 }] : []),
      ...(body.batch > 1 ? [{ ...body, batch: 1 }, { ...body, batch: body.batch - 1 }] : []),
      ...(body.states.length > 1
        ? [{ ...body, states: body.states.slice(0, 1), operations: body.operations }]
        : []),
      ...(body.width > 1 ? [{ ...body, width: 1 }] : []),
      ...(body.channels > 1 ? [{ ...body, channels: 1 }] : []),
    ];
    let smaller: RandomBody | undefined;
    for (const candidate of candidates) {
      if (await fails(candidate).catch(() => false)) {
        smaller = candidate;
        break;
      }
    }
    if (!smaller) return body;
    body = smaller;
  }
}

function withoutOperation(body: RandomBody, removed: number): RandomBody {
  const at = given(body) + removed;
  const operations = body.operations
    .filter((_, i) => i !== removed)
    .map((operation) => ({
      ...operation,
      args: operation.args.map((arg) =>
        arg === at ? operation.args[0] === at ? 0 : operation.args[0] : arg > at ? arg - 1 : arg
      ),
    }));
  return { ...body, operations };
}

/** A body as code that runs it. */
export function asCode(body: RandomBody, dtype: DType): string {
  return `import { difference } from "./tests/compile/run_body.ts";

const body = ${JSON.stringify(body, null, 2)};
console.log(await difference(body, "${dtype}"));`;
}
