/** Curves of runs over their epochs. */
import type { Chart, Mark } from "../charts/chart.ts";
import { counted } from "../charts/format.ts";
import type { EpochMetrics } from "../train/report/epoch_metrics.ts";
import { isPercentMeasure, measureName, sortMeasures } from "../train/report/measure_names.ts";
import type { ViewedRun } from "./runs.ts";
import { compareSettings, settingsInWords } from "./settings.ts";

/** How curves are drawn. */
export interface CurveChoice {
  /** Weight of the earlier values in the moving average that is drawn, from 0 (no average) to 0.99. */
  readonly smoothing: number;
  /** Scale of the measures. */
  readonly scale: "auto" | "linear" | "log";
  /** `"mean"`: a curve shows the mean and the range of runs that differ only in the seed. */
  readonly seeds: "each" | "mean";
  /** First and last epoch. */
  readonly from: number;
  readonly to: number;
}

/** Runs of a curve. */
interface Group {
  readonly name: string;
  readonly runs: readonly ViewedRun[];
}

/** Maximum number of charts. */
const maxCharts = 3;

/** A curve: a value for each epoch. */
type Curve = readonly (readonly [epoch: number, value: number])[];

/** A chart for each of some measures, with a line for each run, or for each group of runs with different seeds. */
export function curveCharts(runs: readonly ViewedRun[], choice: CurveChoice): Chart[] {
  const groups = groupsOf(runs, choice);
  const measured = runs.flatMap(({ metrics }) =>
    metrics.slice(0, 1).flatMap(({ train, validation }) => [train, validation].flatMap(Object.keys))
  );
  return sortMeasures(measured, "loss").slice(0, maxCharts).map((measure): Chart => {
    const isValidated = runs.some(({ metrics }) => metrics.some(({ validation }) => measure in validation));
    const part = isValidated ? "validation" : "train";
    const title = `${isValidated ? "validation" : "training"} ${measureName(measure)}`;
    return {
      title,
      panels: [{
        x: { title: "epoch", isWhole: true },
        y: { title, isPercent: isPercentMeasure(measure), scale: choice.scale },
        marks: groups.flatMap(({ name, runs }) =>
          marksOf(name, runs.map(({ metrics }) => curveOf(metrics, part, measure, choice)))
        ),
      }],
    };
  });
}

function groupsOf(runs: readonly ViewedRun[], { seeds }: CurveChoice): Group[] {
  if (seeds === "each") return runs.map((run) => ({ name: run.name, runs: [run] }));
  const { differing } = compareSettings(runs);
  const names = differing.filter((name) => name !== "seed");
  const nameOf = (run: ViewedRun) => {
    const settings = settingsInWords(run);
    return names.map((name) => `${name} ${settings.get(name) ?? "–"}`).join(", ");
  };
  return [...Map.groupBy(runs, nameOf)].map(([name, runs]) => ({
    name: [name, counted(runs.length, "seed")].filter((part) => part !== "").join(", "),
    runs,
  }));
}

/** The finite values of a measure in the chosen epochs, as a moving average of all epochs up to each. */
function curveOf(
  metrics: readonly EpochMetrics[],
  part: "train" | "validation",
  measure: string,
  { smoothing, from, to }: CurveChoice,
): Curve {
  let [sum, weight] = [0, 0];
  return metrics.flatMap((line): [number, number][] => {
    const value = line[part][measure];
    if (!Number.isFinite(value)) return [];
    sum = smoothing * sum + (1 - smoothing) * value;
    weight = smoothing * weight + 1 - smoothing;
    return line.epoch >= from && line.epoch <= to ? [[line.epoch, sum / weight]] : [];
  });
}

/** A line for a curve; of several curves the mean at each epoch, and a band from the smallest to the largest value. */
function marksOf(name: string, curves: readonly Curve[]): Mark[] {
  const points = Map.groupBy(curves.flat(), ([epoch]) => epoch);
  const x = [...points.keys()].sort((a, b) => a - b);
  if (x.length === 0) return [];
  const over = (combine: (values: number[]) => number) =>
    x.map((epoch) => combine(points.get(epoch)!.map(([, value]) => value)));
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return [
    { kind: "line", name, x, y: over(mean) },
    ...curves.length > 1
      ? [{
        ...{ kind: "band" as const, of: name, name: `range of ${name}`, x },
        low: over((values) => Math.min(...values)),
        high: over((values) => Math.max(...values)),
      }]
      : [],
  ];
}
