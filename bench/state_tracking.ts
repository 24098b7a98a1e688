/**
 * Trains models on words whose tokens change a state, and tests them on longer words: the model must remember the
 * state. Writes the runs into docs/tables/state-tracking.jsonl.
 */
import { valueAndGrad } from "../src/autodiff/grad.ts";
import { jit } from "../src/compile/jit/jit.ts";
import { init } from "../src/compile/init.ts";
import { Mamba } from "../src/models/diagonal/mamba.ts";
import { S4D } from "../src/models/diagonal/s4d.ts";
import { S5 } from "../src/models/diagonal/s5.ts";
import { DeltaNet } from "../src/models/fast_weight/delta_net.ts";
import { gatedDeltaRule } from "../src/models/fast_weight/gated_rules.ts";
import { LinearTransformer } from "../src/models/fast_weight/linear_transformer.ts";
import { RecurrentFWP } from "../src/models/fast_weight/recurrent_fwp.ts";
import { hebbRule, type LearningRule, ojaRule } from "../src/models/fast_weight/rules.ts";
import { Recurrent } from "../src/models/recurrent.ts";
import type { MatrixStructure } from "../src/models/structured/structures.ts";
import type { StructuredCDEForm } from "../src/models/structured/controlled_layer.ts";
import { StructuredCDE } from "../src/models/structured/structured_cde.ts";
import { WARP } from "../src/models/warp/warp.ts";
import type { WARPTransitionOptions } from "../src/models/warp/transition.ts";
import { type Layer, parameterCount, type ParameterOptions } from "../src/nn/layer.ts";
import { crossEntropy } from "../src/nn/losses.ts";
import { Adam } from "../src/optim/adam.ts";
import { clipByGlobalNorm } from "../src/optim/clip.ts";
import { appendJsonLine, readJsonLines } from "../src/files/disk.ts";
import { tensor } from "../src/tensor/creation.ts";
import { foldIn, type Key, key, splitKey } from "../src/tensor/random.ts";
import { tidy } from "../src/tensor/scope.ts";
import type { Tensor } from "../src/tensor/tensor.ts";
import { main, prepareDrivers, wholeFrom } from "../src/commands/command.ts";
import {
  automatonOf,
  type StateTask,
  stateTasks,
  stateTracking,
} from "../tasks/papers/data/state_tracking.ts";
import { benchCommand } from "./programs.ts";

/** Channels of the tokens, and outputs: the labels of a task. */
interface Sizes extends Required<Pick<ParameterOptions, "key">> {
  readonly inputChannels: number;
  readonly outputChannels: number;
}

/** Maps tokens `(batch, length, tokens)` to logits at all steps. */
type Tracker = Layer<[x: Tensor, call: { states: "all" }]>;

const cde = (structure: MatrixStructure, form: StructuredCDEForm) => (sizes: Sizes): Tracker =>
  StructuredCDE({
    ...sizes,
    modelDim: 32,
    stateSize: 32,
    structure,
    form,
    control: "values",
    initialScale: 0.5,
  });
const stacked = { modelDim: 16, layers: 2 };
const fastWeights = (rule?: LearningRule) => (sizes: Sizes): Tracker =>
  DeltaNet({ ...sizes, ...stacked, heads: 2, rule });
const warp = (transition: WARPTransitionOptions) => (sizes: Sizes): Tracker =>
  WARP({ ...sizes, output: "logits", transition, root: { width: 8, depth: 1 }, limit: Infinity });

/** The compared models, by the names of the table. */
export const trackers: Readonly<Record<string, (sizes: Sizes) => Tracker>> = {
  "CDE, diagonal, exponential": cde("diagonal", "exponential"),
  "CDE, diagonal, Euler": cde("diagonal", "euler"),
  "CDE, blocks of 4, exponential": cde({ blockSize: 4 }, "exponential"),
  "CDE, blocks of 4, Euler": cde({ blockSize: 4 }, "euler"),
  "CDE, diagonal plus rank 2, Euler": cde({ rank: 2 }, "euler"),
  "CDE, Walsh-Hadamard, Euler": cde("walsh-hadamard", "euler"),
  "CDE, sparse (0.125), Euler": cde({ density: 0.125 }, "euler"),
  "CDE, dense, Euler": cde("dense", "euler"),
  "GRU": (sizes) => Recurrent({ ...sizes, cell: "gru", hiddenChannels: 32 }),
  "S4D": (sizes) => S4D({ ...sizes, ...stacked, stateSize: 16 }),
  "S5": (sizes) => S5({ ...sizes, ...stacked, stateSize: 32 }),
  "Mamba": (sizes) => Mamba({ ...sizes, ...stacked, stateSize: 8 }),
  "linear transformer": (sizes) => LinearTransformer({ ...sizes, ...stacked, heads: 2 }),
  "fast weights, Hebb": fastWeights(hebbRule({ boundValues: false })),
  "fast weights, Oja": fastWeights(ojaRule()),
  "DeltaNet": fastWeights(),
  "fast weights, gated delta": fastWeights(gatedDeltaRule({ time: "discrete" })),
  "recurrent fast weights": (sizes) => RecurrentFWP({ ...sizes, ...stacked, heads: 2 }),
  "WARP, dense": warp("dense"),
  "WARP, planes": warp("planes"),
  "WARP, diagonal": warp("diagonal"),
  "WARP, rank 8": warp({ rank: 8 }),
};

/** Training of a comparison. */
export interface StateTrackingSetting {
  readonly batchSize: number;
  /** Tokens of a training word. Every prefix has a label. */
  readonly length: number;
  readonly steps: Readonly<Record<StateTask, number>>;
  readonly learningRate: number;
  /** Training ends early when the losses of three steps in a row that are read back are below this bound. */
  readonly leastLoss: number;
  readonly tests: { readonly length: number; readonly series: number };
}

/** The comparison in docs/research/state_tracking.md. */
export const stateTrackingSetting: StateTrackingSetting = {
  batchSize: 32,
  length: 40,
  steps: {
    "parity": 500,
    "C5": 500,
    "S3": 500,
    "A5": 1000,
    "even pairs": 500,
    "cycle navigation": 500,
    "arithmetic": 500,
    "recall": 500,
  },
  learningRate: 0.005,
  leastLoss: 2e-3,
  tests: { length: 256, series: 128 },
};

/** Test accuracies of one model, task and seed. */
export interface StateTrackingRun {
  readonly task: StateTask;
  readonly model: string;
  readonly seed: number;
  readonly parameters: number;
  readonly steps: number;
  /** Mean accuracies on test words: over as many steps as a training word has, and over all steps. */
  readonly short: number;
  readonly long: number;
}

/** Trains a model of {@linkcode trackers} on new words in every step, and tests it. */
export async function trackStates(
  task: StateTask,
  name: string,
  seed: number,
  setting: StateTrackingSetting,
): Promise<StateTrackingRun> {
  const { batchSize, length, steps, learningRate, leastLoss, tests } = setting;
  const [modelKey, dataKey, testKey] = splitKey(key(seed), 3);
  const { size, next } = automatonOf(task);
  const model = trackers[name]({ inputChannels: next.length, outputChannels: size, key: modelKey });
  const optimizer = Adam(model.parameters, { learningRate });
  const draw = (batchKey: Key, count: number, length: number): [x: Tensor, labels: Tensor] => {
    const { values, shape, labels } = stateTracking(count, batchKey, task, length);
    return [tensor(values, { shape }), tensor(labels, { dtype: "int32" })];
  };
  const logitsOf = (x: Tensor) => model(x, { states: "all" }).reshape([-1, size]);
  const step = jit((x: Tensor, labels: Tensor) => {
    const [loss, gradients] = valueAndGrad(() => crossEntropy(logitsOf(x), labels))(model.parameters);
    optimizer.step(clipByGlobalNorm(gradients, 1).gradients);
    return loss;
  });
  let taken = 0;
  for (let small = 0; taken < steps[task] && small < 3;) {
    const loss = tidy(() => step(...draw(foldIn(dataKey, taken), batchSize, length)));
    taken++;
    // Reading a loss back waits for the step.
    if (taken % 10 === 0) small = await loss.item() < leastLoss ? small + 1 : 0;
  }
  const [x, labels] = draw(testKey, tests.series, tests.length);
  // A state that leaves the range of floats has no answer: its logits are NaN.
  const isRight = tidy(() => {
    const logits = logitsOf(x);
    const answers = logits.isNaN().any(-1).where(-1, logits.argmax(-1));
    return answers.equal(labels).cast("float32").reshape([tests.series, tests.length]);
  });
  const upTo = async (end: number) => await isRight.slice(1, 0, end).mean().item() as number;
  const parameters = parameterCount(model.parameters);
  const [short, long] = [await upTo(length), await upTo(tests.length)];
  return { task, model: name, seed, parameters, steps: taken, short, long };
}

if (import.meta.main) {
  await main(async (args) => {
    const program = benchCommand("state-tracking")
      .option("--docs <folder>", "folder with tables/state-tracking.jsonl", "docs")
      .option("--tasks <names...>", "tasks", stateTasks)
      .option("--models <names...>", "models", Object.keys(trackers))
      .option("--seeds <number>", "number of runs per model and task", wholeFrom(1), 3)
      .parse(args, { from: "user" });
    prepareDrivers();
    const { docs, tasks, models, seeds } = program.opts<
      { docs: string; tasks: StateTask[]; models: string[]; seeds: number }
    >();
    const file = `${docs}/tables/state-tracking.jsonl`;
    await init({ device: "cpu" });
    const ended = await readJsonLines<StateTrackingRun>(file);
    for (let seed = 0; seed < seeds; seed++) {
      for (const task of tasks) {
        for (const model of models) {
          if (ended.some((run) => run.task === task && run.model === model && run.seed === seed)) continue;
          const run = await trackStates(task, model, seed, stateTrackingSetting);
          await appendJsonLine(file, run);
          const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
          console.log(`${task}, ${model}, seed ${seed}: ${percent(run.short)}, longer ${percent(run.long)}`);
        }
      }
    }
    return 0;
  });
}
