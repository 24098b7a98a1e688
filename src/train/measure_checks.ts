/** Checks that a task returns the measures of its metric and its stop rule. */
import { listed } from "../data/format.ts";
import { sampleCount, takeSamples } from "../data/batches.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tree } from "../tensor/tree.ts";
import type { Samples, Task } from "./task.ts";

/** Names of measures, for each part of the data that a task can use. */
interface MeasureNames {
  readonly train: readonly string[];
  readonly validation: readonly string[];
}

/** Measures that `evaluate` adds for a task with scores. */
const rankings = ["auc", "averagePrecision"];

/**
 * Checks the options of a task that have a fixed set of values.
 *
 * @throws {RangeError} If a value is invalid. The message lists the valid values.
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
 * Checks the measure names of a task's metric and stop rule after the first training step, before the rest of
 * the epoch.
 *
 * @param measured Names of the measures of a training step.
 * @throws {Error} If the task does not return a measure of this name. The message lists its measures.
 */
export function checkNames<Batch extends Tree>(
  task: Task<Batch, Samples<Batch>>,
  measured: readonly string[],
): void {
  const { validation } = task.data;
  if (!validation) return requireNames(task, { train: measured, validation: [] });
  const ranked = task.scores ? rankings : [];
  const likely = { train: measured, validation: [...measured, ...ranked] };
  if (unknownNames(task, likely).length === 0) return;
  // Without a key, a task may return more measures than in training: evaluate one validation sample.
  if (sampleCount(validation) === 0) return;
  const names = tidy(() => Object.keys(task.evaluate(takeSamples(validation, Int32Array.of(0)))));
  requireNames(task, { train: measured, validation: [...names, ...ranked] });
}

/**
 * @throws {Error} If a measure of the metric or the stop rule is missing in its part of the data.
 */
export function requireNames(task: Pick<Task, "data" | "metric" | "stop">, names: MeasureNames): void {
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

function unknownNames({ data, metric, stop }: Pick<Task, "data" | "metric" | "stop">, names: MeasureNames) {
  const used = [
    ...(data.validation ? [{ use: "metric.name", part: "validation" as const, measure: metric.name }] : []),
    ...(stop?.unless ?? []).map(({ part, measure }) => ({ use: "a measure of stop.unless", part, measure })),
  ];
  return used.filter(({ part, measure }) => !names[part].includes(measure));
}

/**
 * Returns measures that are all finite.
 *
 * @param what Name of the measured data.
 *
 * @throws {Error} If a measure is not finite.
 */
export function requireFinite(measures: Record<string, number>, what: string): Record<string, number> {
  for (const [name, value] of Object.entries(measures)) {
    if (Number.isFinite(value)) continue;
    throw new Error(
      `the ${what} ${name} is ${value}: some values or times are far outside the range of the training data; check the data ` +
        "for extreme values and times",
    );
  }
  return measures;
}
