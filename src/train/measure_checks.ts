/** Checks that a task measures what it chooses its best epoch and its end by. */
import { listed } from "../data/format.ts";
import { sampleCount, takeSamples } from "../data/batches.ts";
import { scope } from "../tensor/scope.ts";
import type { Tree } from "../tensor/tree.ts";
import type { Task } from "./task.ts";

/** Names of measures, for each part of the data that a task can choose by. */
interface MeasureNames {
  readonly train: readonly string[];
  readonly validation: readonly string[];
}

/** Measures that `evaluate` adds where a task has scores. */
const rankings = ["auc", "averagePrecision"];

/**
 * Checks the choices of a task that are one of some words.
 *
 * @throws {RangeError} If one is another word, with those that there are.
 */
export function checkChoices({ metric, plateauOf, stop }: Pick<Task, "metric" | "plateauOf" | "stop">): void {
  const modes = ["min", "max"];
  const choices: (readonly [name: string, value: string | undefined, words: readonly string[]])[] = [
    ["metric.mode", metric.mode, modes],
    ["plateauOf", plateauOf ?? "validation", ["validation", "validation loss", "training"]],
    ...(stop?.unless ?? []).flatMap(({ part, mode }) => [
      ["stop.unless.part", part, ["train", "validation"]] as const,
      ["stop.unless.mode", mode, modes] as const,
    ]),
  ];
  for (const [name, value, words] of choices) {
    if (words.includes(`${value}`)) continue;
    throw new RangeError(
      `train: ${name} is ${JSON.stringify(value)}, expected one of ${listed(words, Infinity)}`,
    );
  }
}

/**
 * Checks the names of a task's metric and of its stop rule after the first training step, before an epoch is spent.
 *
 * @param measured Names of the measures of a training step.
 * @throws {Error} If a name is none of the task's measures, with those that there are.
 */
export function checkNames<Batch extends Tree>(task: Task<Batch>, measured: readonly string[]): void {
  const ranked = task.scores ? rankings : [];
  const likely = { train: measured, validation: [...measured, ...ranked] };
  if (unknownNames(task, likely).length === 0) return;
  // A task may measure more without a key than in training: one validation sample decides.
  const { validation } = task.data;
  if (sampleCount(validation) === 0) return;
  const names = scope(() => Object.keys(task.evaluate(takeSamples(validation, Int32Array.of(0)))));
  requireNames(task, { train: measured, validation: [...names, ...ranked] });
}

/**
 * @throws {Error} If the metric or a measure of the stop rule was not measured in its part of the data.
 */
export function requireNames(task: Pick<Task, "metric" | "stop">, names: MeasureNames): void {
  const [unknown] = unknownNames(task, names);
  if (unknown === undefined) return;
  const { use, part, measure } = unknown;
  throw new Error(
    `train: ${use} is ${
      JSON.stringify(measure)
    }, which is not measured on the ${part} part; expected one of ${listed(names[part], Infinity)}${
      rankings.includes(measure) ? `; ${measure} needs the task's scores, and samples of both classes` : ""
    }`,
  );
}

function unknownNames({ metric, stop }: Pick<Task, "metric" | "stop">, names: MeasureNames) {
  const used = [
    { use: "metric.name", part: "validation" as const, measure: metric.name },
    ...(stop?.unless ?? []).map(({ part, measure }) => ({ use: "a measure of stop.unless", part, measure })),
  ];
  return used.filter(({ part, measure }) => !names[part].includes(measure));
}
