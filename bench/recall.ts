/**
 * Trains each learning rule on the long recall task, where the last written value must be remembered. Writes
 * the runs into docs/tables/recall.jsonl, and their figure.
 */
import { vjp } from "../src/autodiff/grad.ts";
import { recall, type RecallSizes } from "../tasks/papers/data/recall.ts";
import { init } from "../src/compile/init.ts";
import { appendJsonLine, readJsonLines, writeAtomically } from "../src/files/disk.ts";
import { FastWeightODE } from "../src/models/fast_weight/ode.ts";
import { deltaRule, hebbRule, type LearningRule, ojaRule } from "../src/models/fast_weight/rules.ts";
import { accuracy, crossEntropy } from "../src/nn/losses.ts";
import { Adam } from "../src/optim/adam.ts";
import { clipByGlobalNorm } from "../src/optim/clip.ts";
import { LinearInterpolation } from "../src/paths/linear.ts";
import type { MethodName } from "../src/solvers/methods.ts";
import { tensor } from "../src/tensor/creation.ts";
import { foldIn, type Key, key, splitKey } from "../src/tensor/random.ts";
import { tidy } from "../src/tensor/scope.ts";
import type { Tensor } from "../src/tensor/tensor.ts";
import { main, prepareDrivers, wholeFrom } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { chartFile } from "../src/charts/file.ts";

/** The compared rules, by the names under which results are stored. */
const recallRules: Readonly<Record<string, LearningRule>> = {
  hebb: hebbRule(),
  oja: ojaRule(),
  delta: deltaRule(),
  "delta, post tanh": deltaRule({ postTanh: true }),
};

/** Sizes, method and training of a comparison on the recall task. */
export interface RecallSetting {
  readonly sizes: Required<Omit<RecallSizes, "length">>;
  /** Features of the model, which has one head. */
  readonly modelDim: number;
  /** Time between two observations, and step size of the method. */
  readonly timeStep: number;
  readonly method: MethodName;
  readonly batchSize: number;
  readonly learningRate: number;
  /**
   * Training stages in order, each with a series length and a number of steps. Training only on long series
   * gives no useful gradient at the start.
   */
  readonly stages: readonly { readonly length: number; readonly steps: number }[];
  /** Lengths of the test series, and number of test series for each length. */
  readonly tests: { readonly lengths: readonly number[]; readonly series: number };
}

/** The comparison in docs/research/fast_weights.md. */
export const recallSetting: RecallSetting = {
  sizes: { keys: 4, values: 16, writes: 2, hold: 8 },
  modelDim: 16,
  // With a step size of 1, the W of Oja's rule diverges.
  timeStep: 0.5,
  method: "euler",
  batchSize: 32,
  learningRate: 0.01,
  stages: [{ length: 128, steps: 500 }, { length: 1024, steps: 30 }, { length: 4096, steps: 15 }],
  tests: { lengths: [128, 1024, 4096, 16_384], series: 128 },
};

/** Means over consecutive training steps. */
interface RecallPoint {
  /** Number of the last step that the means include, starting at 1. */
  readonly step: number;
  readonly length: number;
  readonly loss: number;
  readonly accuracy: number;
}

/** Training and test accuracies of one rule and seed. */
export interface RecallRun {
  readonly rule: string;
  readonly seed: number;
  readonly points: readonly RecallPoint[];
  readonly tests: readonly { readonly length: number; readonly accuracy: number }[];
}

type Batch = { X: LinearInterpolation; labels: Tensor };

/** Trains a direct model with a rule of {@linkcode recallRules} on new series in every step, and tests it. */
export async function trainRecall(rule: string, seed: number, setting: RecallSetting): Promise<RecallRun> {
  const { sizes, modelDim, timeStep, method, batchSize, learningRate, stages, tests } = setting;
  const [modelKey, dataKey, testKey] = splitKey(key(seed), 3);
  const model = FastWeightODE({
    inputChannels: sizes.keys + sizes.values + 1,
    modelDim,
    heads: 1,
    outputChannels: sizes.values,
    rule: recallRules[rule],
    method,
    stepSize: timeStep,
    key: modelKey,
  });
  const optimizer = Adam(model.parameters, { learningRate });
  const draw = (batchKey: Key, count: number, length: number): Batch => {
    const { values, shape, labels } = recall(count, batchKey, { ...sizes, length });
    const times = Float64Array.from({ length }, (_, i) => timeStep * i);
    return {
      X: LinearInterpolation(tensor(values, { shape }), times),
      labels: tensor(labels, { dtype: "int32" }),
    };
  };

  const points: RecallPoint[] = [];
  // About forty points in total.
  const pointEvery = Math.max(1, Math.floor(stages.reduce((sum, { steps }) => sum + steps, 0) / 40));
  let step = 0;
  for (const { length, steps } of stages) {
    let measured: Tensor[][] = [];
    for (let i = 1; i <= steps; i++) {
      measured.push(tidy(() => {
        const { X, labels } = draw(foldIn(dataKey, step++), batchSize, length);
        let correct!: Tensor;
        const { value: loss, pullback } = vjp(() => {
          const logits = model(X);
          correct = accuracy(logits, labels);
          return crossEntropy(logits, labels);
        }, model.parameters);
        optimizer.step(clipByGlobalNorm(pullback(loss.zerosLike().add(1)), 1).gradients);
        return [loss, correct];
      }));
      if (i % pointEvery !== 0 && i !== steps) continue;
      const [loss, correct] = await means(measured);
      points.push({ step, length, loss, accuracy: correct });
      measured = [];
    }
  }
  const tested: { length: number; accuracy: number }[] = [];
  for (const length of tests.lengths) {
    const measured = Array.from({ length: Math.ceil(tests.series / batchSize) }, (_, i) =>
      tidy(() => {
        const { X, labels } = draw(foldIn(testKey, i), batchSize, length);
        return [accuracy(model(X), labels)];
      }));
    tested.push({ length, accuracy: (await means(measured))[0] });
  }
  return { rule, seed, points, tests: tested };
}

/** The means of columns. */
async function means(rows: readonly (readonly Tensor[])[]): Promise<number[]> {
  const values = await Promise.all(
    rows.map((row) => Promise.all(row.map((x) => x.item() as Promise<number>))),
  );
  return values[0].map((_, column) => values.reduce((sum, row) => sum + row[column], 0) / values.length);
}

/** Accuracy over training steps, one line per rule and seed, as an SVG file. */
export function recallFigure(runs: readonly RecallRun[]): string {
  return chartFile([{
    title: "Recall of the last written value",
    panels: [{
      x: { title: "training steps" },
      y: { title: "accuracy on the training batch", isPercent: true, includes: [0, 1] },
      marks: runs.map(({ rule, points }) => ({
        ...{ kind: "line", name: rule },
        x: points.map(({ step }) => step),
        y: points.map(({ accuracy }) => accuracy),
      })),
    }],
  }]);
}

if (import.meta.main) {
  await main(async (args) => {
    const program = benchCommand("recall")
      .option("--docs <folder>", "folder with tables/recall.jsonl and figures/", "docs")
      .option("--seeds <number>", "number of runs per rule", wholeFrom(1), 3)
      .option(
        "--again",
        "discard the runs in tables/recall.jsonl; by default, only missing runs are trained",
      )
      .parse(args, { from: "user" });
    prepareDrivers();
    const { docs, seeds, again } = program.opts<{ docs: string; seeds: number; again?: true }>();
    const lines = `${docs}/tables/recall.jsonl`;
    await init({ device: "cpu" });
    if (again) await writeAtomically(lines, "");
    const ended = await readJsonLines<RecallRun>(lines);
    for (let seed = 0; seed < seeds; seed++) {
      for (const rule of Object.keys(recallRules)) {
        if (ended.some((run) => run.rule === rule && run.seed === seed)) continue;
        const run = await trainRecall(rule, seed, recallSetting);
        ended.push(run);
        await appendJsonLine(lines, run);
        const tests = run.tests.map(({ length, accuracy }) => `${length}: ${(100 * accuracy).toFixed(1)} %`);
        console.log(`${rule}, seed ${seed}: ${tests.join(", ")}`);
      }
    }
    const selected = ended.filter(({ seed }) => seed < seeds);
    await writeAtomically(`${docs}/figures/recall.svg`, recallFigure(selected));
    return 0;
  });
}
