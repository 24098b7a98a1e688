/**
 * Fast weights as an associative memory: errors of values that are read back after each write, and after
 * overwriting.
 */
import { deltaRule, hebbRule, type LearningRule } from "../src/models/fast_weight/rules.ts";
import { odeint } from "../src/solvers/odeint.ts";
import { eye, zeros } from "../src/tensor/creation.ts";
import { key, normal, splitKey } from "../src/tensor/random.ts";
import { tidy } from "../src/tensor/scope.ts";
import type { Tensor } from "../src/tensor/tensor.ts";
import { init } from "../src/compile/init.ts";
import { writeAtomically } from "../src/files/disk.ts";
import { main, prepareDrivers } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { chartFile } from "../src/charts/file.ts";

/** Options of {@linkcode readBackErrors}. */
interface MemoryOptions {
  rule: LearningRule;
  /** Learning rate sigma(beta) of writing, between 0 and 1. */
  rate: number;
  /** Number of keys, and of features of each key. The keys are orthogonal. */
  keys: number;
  /** Duration of each pair. */
  span: number;
  /** Number of times that all keys are written, each time with different values. */
  rounds: number;
  /**
   * Expected result of reading a pair's value: by default its tanh, which the rules of Hebb and Oja write.
   */
  target?: (values: Tensor) => Tensor;
  seed?: number;
}

/**
 * Writes random values under orthogonal keys, one after the other, for several rounds, and reads back after
 * each write.
 *
 * @returns For each write, the largest error of an element over all keys written so far, compared with the
 * last value of each key; `keys * rounds` numbers.
 */
export async function readBackErrors(options: MemoryOptions): Promise<number[]> {
  const { rule, rate, keys: n, span, rounds, target = (v) => v.tanh(), seed = 0 } = options;
  const dtype = "float64";
  // The softmax of these keys is exactly one-hot.
  const keys = eye(n, { dtype }).mul(100);
  const beta = zeros([1], { dtype }).add(Math.log(rate / (1 - rate)));
  const errors: Tensor[] = [];
  let w = zeros([n, n], { dtype });
  let current = zeros([n, n], { dtype });
  for (const [round, roundKey] of splitKey(key(seed), rounds).entries()) {
    const values = normal(roundKey, [n, n], { dtype });
    for (let i = 0; i < n; i++) {
      const written = keys.greater(0).select(0, i).expandDims(1);
      current = written.where(target(values), current);
      w = tidy(() => {
        const signals = { keys: keys.select(0, i), values: values.select(0, i), rate: beta };
        return odeint((_t, w) => rule(signals, w), w, [0, span], { method: "rk4", stepSize: span / 100 })
          .select(
            0,
            1,
          );
      });
      const known = round === 0 ? i + 1 : n;
      errors.push(w.mT.sub(current).slice(0, 0, known).abs().max());
    }
  }
  return await Promise.all(errors.map((error) => error.item() as Promise<number>));
}

/**
 * Errors of the delta rule and of Hebb's rule after each write, as an SVG file: 8 keys, each written three
 * times.
 */
async function associativeMemoryFigure(): Promise<string> {
  const sizes = { keys: 8, span: 10, rounds: 3 };
  // With a rate of 0.1, Hebb's rule accumulates exactly the value over a span of 10.
  const lines = await Promise.all([
    { name: "delta", errors: readBackErrors({ ...sizes, rule: deltaRule(), rate: 0.99 }) },
    { name: "Hebb", errors: readBackErrors({ ...sizes, rule: hebbRule(), rate: 0.1 }) },
  ].map(async ({ name, errors }) => ({ name, y: await errors })));
  return chartFile([{
    title: "Largest error of a value that is read back: each key is rewritten from the 9th pair on",
    panels: [{
      x: { title: "written pairs", isWhole: true },
      y: { title: "largest error", scale: "log" },
      marks: lines.map(({ name, y }) => ({ kind: "line", name, x: y.map((_, i) => i + 1), y })),
    }],
  }]);
}

if (import.meta.main) {
  await main(async (args) => {
    const program = benchCommand("associative-memory")
      .option("--out <folder>", "folder for associative_memory.svg", "docs/figures")
      .parse(args, { from: "user" });
    prepareDrivers();
    await init({ device: "cpu" });
    const { out } = program.opts<{ out: string }>();
    await Deno.mkdir(out, { recursive: true });
    await writeAtomically(`${out}/associative_memory.svg`, await associativeMemoryFigure());
    return 0;
  });
}
