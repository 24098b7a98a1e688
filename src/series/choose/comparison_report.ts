/** Texts about a comparison of models. */
import { formatDuration } from "../../charts/format.ts";
import type { Section } from "../../charts/section.ts";
import { formatMeasure, measureName } from "../../train/report/measure_names.ts";
import type { Task } from "../../train/task.ts";
import type { ComparedModel, RecordedTraining } from "../record/recorded_training.ts";

/** Smallest work that is shown, in seconds. */
const shownWork = 0.01;

/** A compared model as a line of text. */
export function lineOf({ model, measures = {}, reason, steps, seconds }: ComparedModel): string {
  const values = Object.entries(measures).map(([name, value]) =>
    `${measureName(name)} ${formatMeasure(name, value)}`
  );
  const texts = [
    ...values,
    ...steps ? [`${steps} steps`] : [],
    ...reason === undefined ? [] : [reason],
    ...seconds >= shownWork ? [`work of ${formatDuration(seconds)}`] : [],
  ];
  return `${model}: ${texts.join(", ")}`;
}

/** Rule of the choice, for a report. */
const choiceRule =
  "the simplest model whose error is at most one standard error above the smallest, never one " +
  "with a larger error than a constant prediction or the seasonal naive forecast";

/** Why the chosen model is a weighted mean and not its best member, as a sentence. */
export function replacementOf(chosen: string, replaced: string): string {
  return `${chosen} averages ${replaced} and other models, and is chosen instead because its error is at most one ` +
    "standard error larger.";
}

/** A task whose report names the chosen model and lists the compared ones. */
export function withComparison<Found extends Task>(
  task: Found,
  training: RecordedTraining | undefined,
): Found {
  if (!training?.chosen) return task;
  const { label, ...chosen } = training.chosen;
  const defined = Object.entries(chosen).filter(([, value]) => value !== undefined);
  return {
    ...task,
    chosen: {
      ...task.chosen,
      ...Object.fromEntries(defined.map(([name, value]) => [name, `${value}`])),
      ...(label ? { settings: label } : {}),
    },
    examples: async () => [...comparisonSection(training), ...await task.examples?.() ?? []],
  };
}

function comparisonSection(training: RecordedTraining): Section[] {
  const { compared, chosen, replaced } = training;
  if (!compared || !chosen) return [];
  const name = chosen.label ?? chosen.model;
  const names = [...new Set(compared.flatMap(({ measures = {} }) => Object.keys(measures)))];
  const hasSteps = compared.some(({ steps }) => steps !== undefined);
  const hasReasons = compared.some(({ reason }) => reason !== undefined);
  const head = ["model", ...names.map(measureName), ...hasSteps ? ["steps"] : [], "work"];
  return [{
    kind: "table",
    title: "Compared models",
    text:
      `The models were compared on data that they did not learn from, the simplest first. Chosen: ${name}, ` +
      `by the rule: ${choiceRule}.${replaced ? ` ${replacementOf(name, replaced)}` : ""}`,
    head: [...head, ...hasReasons ? ["why it was left out or not trained longer"] : []],
    texts: hasReasons ? [0, head.length] : [0],
    rows: compared.map(({ model, measures, reason = "", steps, seconds }) => [
      model === name ? { text: model, mark: "best" } : model,
      ...names.map((name) => measures?.[name] === undefined ? "" : formatMeasure(name, measures[name])),
      ...hasSteps ? [`${steps ?? ""}`] : [],
      seconds >= shownWork ? formatDuration(seconds) : "",
      ...hasReasons ? [reason] : [],
    ]),
  }];
}
