import { Linear } from "../../src/nn/linear.ts";
import { accuracy, crossEntropy } from "../../src/nn/losses.ts";
import { Adam } from "../../src/optim/adam.ts";
import { cosineDecay, reduceOnPlateau } from "../../src/optim/schedules.ts";
import { tensor } from "../../src/tensor/creation.ts";
import { bernoulli, key, normal, splitKey } from "../../src/tensor/random.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Task } from "../../src/train/task.ts";

type Batch = { x: Tensor; labels: Tensor };

/** Options of {@linkcode tinyTask}. */
export interface TinyTaskOptions {
  /** A number that replaces a training value at this position. */
  poison?: { position: number; value: number };
  learningRate?: number;
  /** If set, the plateau uses averages of this number of training losses instead of the validation loss. */
  plateauAverage?: number;
}

/**
 * A small task: points on two sides of a line, with dropout, a schedule and a plateau.
 */
export async function tinyTask(options: TinyTaskOptions = {}): Promise<Task<Batch>> {
  const [modelKey, ...dataKeys] = splitKey(key(7), 4);
  const model = Linear({ inputs: 3, outputs: 2, key: modelKey });
  const makeData = async (i: number, count: number): Promise<Batch> => {
    const x = normal(dataKeys[i], [count, 3]);
    const values = await x.data();
    const labels = Int32Array.from(
      { length: count },
      (_, row) => values[3 * row] > values[3 * row + 1] ? 1 : 0,
    );
    if (i === 0 && options.poison) values[3 * options.poison.position] = options.poison.value;
    return { x: tensor(values, { shape: [count, 3] }), labels: tensor(labels, { dtype: "int32" }) };
  };
  return {
    parameters: model.parameters,
    optimizer: Adam(model.parameters, { learningRate: options.learningRate ?? 0.05 }),
    schedule: cosineDecay({ steps: 100 }),
    plateau: options.plateauAverage
      ? reduceOnPlateau({ factor: 0.5, patience: 0, threshold: 0.2, average: options.plateauAverage })
      : reduceOnPlateau({ patience: 0, mode: "max" }),
    plateauOf: options.plateauAverage ? "training" : "validation",
    clipNorm: 1,
    data: { train: await makeData(0, 50), validation: await makeData(1, 20), test: await makeData(2, 20) },
    evaluate({ x, labels }, key) {
      const logits = model(key ? bernoulli(key, 0.8, x.shape).where(x, 0) : x);
      return { loss: crossEntropy(logits, labels), accuracy: accuracy(logits, labels) };
    },
    metric: { name: "accuracy", mode: "max" },
  };
}
