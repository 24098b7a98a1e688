/** The comparison of models in docs/results.md: its runs and its tables. */
import type { RunConfig } from "./config.ts";
import { experimentNamed } from "./experiments/registry.ts";
import { formatSeconds } from "./report.ts";
import { markdownTable } from "./markdown.ts";
import { meanAndSpread, statistics } from "./statistics.ts";
import type { WelchTest } from "./welch.ts";

/** A column of the comparison. */
interface Column {
  readonly title: string;
  readonly experiment: string;
  /** The share of observations that are missing. */
  readonly drop: number;
  readonly epochs: number;
  readonly batchSize: number;
}

const characters = { experiment: "character-trajectories", epochs: 10, batchSize: 32 };
const columns: readonly Column[] = [
  ...[0.3, 0.5, 0.7].map((drop) => ({
    title: `CharacterTrajectories, ${100 * drop} % dropped`,
    drop,
    ...characters,
  })),
  { title: "JapaneseVowels", experiment: "japanese-vowels", drop: 0, epochs: 40, batchSize: 32 },
  { title: "BasicMotions", experiment: "basic-motions", drop: 0, epochs: 40, batchSize: 16 },
];

/** Settings of every run: small models, so that all runs together take half an hour on two cores. */
const shared = { learningRate: 0.005, hidden: 32, method: "midpoint", device: "cpu" } as const;

/** Rows of the comparison: the models' names here, and in the table. */
const rows: Readonly<Record<string, string>> = {
  "neural-cde": "Neural CDE",
  "hebb-ode": "Hebb, direct",
  "oja-ode": "Oja, direct",
  "delta-ode": "Delta, direct",
  "hebb-cde": "Hebb, CDE",
  "oja-cde": "Oja, CDE",
  "delta-cde": "Delta, CDE",
};

/** A run that has ended, as `docs/results.jsonl` stores it. */
export interface ComparedRun {
  /** Configuration of the run, without the path of the data. */
  readonly config: Omit<RunConfig, "data"> & { readonly drop: number };
  /** Test accuracy from 0 to 1; null where the run diverged. */
  readonly accuracy: number | null;
  readonly bestEpoch: number | null;
  readonly parameters: number;
  /** Processor time of all threads together, data and tests included: other programs on the machine change it little. */
  readonly processorSeconds: number;
  readonly deviceDescription: string;
}

/** Every run of the comparison: the first seed of all models and problems, then the second, ... */
export function comparedConfigs(seeds: number): ComparedRun["config"][] {
  return Array.from({ length: seeds }, (_, seed) => seed).flatMap((seed) =>
    columns.flatMap(({ title: _, ...column }) =>
      Object.keys(rows).map((model) => ({ ...column, model, ...shared, seed }))
    )
  );
}

/** The runs that are not among those that have ended with the very same settings. */
export function missingRuns(
  configs: readonly ComparedRun["config"][],
  ended: readonly ComparedRun[],
): ComparedRun["config"][] {
  const known = new Set(ended.map(({ config }) => identity(config)));
  return configs.filter((config) => !known.has(identity(config)));
}

/** The same text for the same settings. */
function identity(config: ComparedRun["config"]): string {
  return JSON.stringify(Object.entries(config).sort(([a], [b]) => a < b ? -1 : 1));
}

/** Path of an experiment's data in a folder. */
export function dataIn(folder: string, experiment: string): string {
  return experimentNamed(experiment).defaults.data!.replace(/^data/, folder.replace(/\/+$/, ""));
}

/** The row that others are compared with. */
const reference = "neural-cde";

/** Accuracies in percent of the runs that did not diverge. */
function accuraciesOf(runs: readonly ComparedRun[]): number[] {
  return runs.flatMap(({ accuracy }) => accuracy === null ? [] : [100 * accuracy]);
}

/** Tables of the runs that have ended, in Markdown: accuracies, tests of their differences, times and numbers of parameters. */
export function comparisonTables(ended: readonly ComparedRun[], test: WelchTest): string {
  const cell = (model: string, { experiment, drop }: Column) =>
    ended.filter(({ config }) =>
      config.model === model && config.experiment === experiment && config.drop === drop
    );
  const table = (
    content: (runs: readonly ComparedRun[], column: Column) => string,
    models = Object.keys(rows),
  ) =>
    markdownTable([
      ["", ...columns.map(({ title }) => title)],
      ...models.map((model) => [
        rows[model],
        ...columns.map((column) => {
          const runs = cell(model, column);
          return runs.length === 0 ? "" : content(runs, column);
        }),
      ]),
    ]);
  const accuracies = table((runs) => {
    const measured = accuraciesOf(runs);
    const diverged = runs.length - measured.length;
    return [
      ...(measured.length > 0 ? [meanAndSpread(measured)] : []),
      ...(diverged > 0 ? [`${diverged} diverged`] : []),
    ].join(", ");
  });
  const differences = table((runs, column) => {
    const [own, others] = [accuraciesOf(runs), accuraciesOf(cell(reference, column))];
    const isTold = own.length > 1 && others.length > 1 &&
      [own, others].some((values) => new Set(values).size > 1);
    return isTold ? test(own, others).toPrecision(2) : "";
  }, Object.keys(rows).filter((model) => model !== reference));
  const costs = table((runs) => {
    const { mean } = statistics(runs.map(({ processorSeconds }) => processorSeconds));
    return `${formatSeconds(mean)}, ${runs[0].parameters.toLocaleString("en")}`;
  });
  return `Test accuracy in percent, mean ± standard deviation over the seeds:\n\n${accuracies}\n\n` +
    `Welch's t test of each against the ${
      rows[reference]
    }: the probability of a difference like this or larger, if their ` +
    `means were the same:\n\n${differences}\n\n` +
    `Processor time of a run, and learned numbers:\n\n${costs}`;
}
