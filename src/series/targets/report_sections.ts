/** Sections of a report about predictions, as data. */
import type { Chart, Mark, Panel } from "../../charts/chart.ts";
import { extent } from "../../charts/scale.ts";
import type { Section } from "../../charts/section.ts";
import type { TimeKind } from "../../data/format.ts";
import { timeAxis } from "./time_axis.ts";
import type { ReliabilityBin } from "./metrics/classes.ts";

/** Maximum number of classes in a confusion matrix. */
const mostClasses = 40;

/** Confusion matrix of the test series; nothing for more than 40 classes. */
export function confusionSection(
  classes: readonly string[],
  matrix: readonly (readonly number[])[],
): Section[] {
  if (classes.length > mostClasses) return [];
  return [{
    ...{ kind: "confusion", title: "Confusion matrix", classes, matrix },
    text: "Number of test series. A row is a true class, a column is a predicted class.",
  }];
}

/** Precision, recall and F1 of each class. */
export function classSection(
  classes: readonly string[],
  scores: readonly { precision: number; recall: number; f1: number; count: number }[],
): Section {
  return {
    ...{ kind: "table", title: "Each class" },
    head: ["class", "precision", "recall", "F1", "test series"],
    rows: scores.map(({ precision, recall, f1, count }, i) => [classes[i], precision, recall, f1, count]),
  };
}

/** Fraction of correct predictions by predicted probability. */
export function reliabilitySection(bins: readonly ReliabilityBin[]): Section {
  return {
    ...{ kind: "charts", title: "Reliability" },
    text: "Of the predictions with a probability of 80 %, 80 % should be correct. Each point is a tenth of " +
      "the range of probabilities. Points of few series vary by chance.",
    charts: [{
      title: "Correct predictions by probability",
      panels: [{
        x: { title: "probability of the predicted class", isPercent: true, includes: [0, 1] },
        y: { title: "correct predictions", isPercent: true, includes: [0, 1] },
        marks: [
          {
            ...{ kind: "line", name: "predictions" },
            x: bins.map(({ confidence }) => confidence),
            y: bins.map(({ accuracy }) => accuracy),
          },
          { kind: "line", name: "ideal", x: [0, 1], y: [0, 1], style: "reference" },
        ],
      }],
    }],
  };
}

/** Increase of a measure when each channel is permuted; nothing if the importance is unknown. */
export function importanceSection(
  measure: string,
  importance: Readonly<Record<string, number>> | undefined,
  unit = "series",
): Section[] {
  if (!importance) return [];
  const sorted = Object.entries(importance).sort(([, a], [, b]) => b - a);
  return [{
    ...{ kind: "charts", title: "Importance of channels" },
    text:
      `Increase of the ${measure} on the test set when a channel has the values of another ${unit}. A channel ` +
      "with an increase of 0 does not matter.",
    charts: [{
      title: "Channels by importance",
      panels: [{
        x: { title: `increase of the ${measure}` },
        y: { title: "channel", categories: sorted.map(([name]) => name) },
        marks: [{ kind: "bars", name: "importance", values: sorted.map(([, value]) => value) }],
      }],
    }],
  }];
}

/** A classified sample. */
interface ClassExample {
  readonly panel: Panel;
  /** Name of the true class. */
  readonly label: string;
  /** Name of the predicted class. */
  readonly predicted: string;
}

/** Some test samples with their predicted classes. */
export function classExamples(examples: readonly ClassExample[]): Section {
  return {
    ...{ kind: "charts", title: "Test samples with their predicted classes" },
    text: "A tick marks a correct prediction, a cross a wrong one.",
    charts: examples.map(({ panel, label, predicted }): Chart => ({
      title: label === predicted ? predicted : `${predicted}; true class ${label}`,
      panels: [panel],
      size: "small",
      outcome: label === predicted ? "right" : "wrong",
    })),
  };
}

/** A series with a title, for a report. */
interface ShownSeries {
  /** Text above the curves. */
  readonly title: string;
  readonly times: Float64Array;
  /** Observations `(length, channels)`, row-major; NaN is missing. */
  readonly values: ArrayLike<number>;
}

/** Maximum number of channels in the chart of a series. */
const mostChannels = 6;

/**
 * Series with the largest errors. Empty without series.
 *
 * @param options `importance`: of each channel by name; the most important channels are drawn, otherwise the first.
 */
export function worstSection(
  shown: readonly ShownSeries[],
  channels: readonly string[],
  { times = "number", importance = {} }: {
    times?: TimeKind;
    importance?: Readonly<Record<string, number>>;
  } = {},
): Section[] {
  if (shown.length === 0) return [];
  const more = channels.length - mostChannels;
  const drawn = [...channels.keys()].toSorted((a, b) =>
    (importance[channels[b]] ?? 0) - (importance[channels[a]] ?? 0)
  ).slice(0, mostChannels);
  return [{
    ...{ kind: "charts", title: "Largest errors" },
    charts: shown.map(({ title, times: shownTimes, values }): Chart => ({
      title,
      panels: drawn.map((channel) => ({
        x: timeAxis(times),
        y: { title: channels[channel] },
        marks: [{
          ...{ kind: "line", name: channels[channel], x: shownTimes },
          y: Array.from(shownTimes, (_, t) => values[t * channels.length + channel]),
        }],
      })),
      ...(more > 0 ? { note: `and ${more} more channels` } : {}),
    })),
  }];
}

/** Scatter plots of true and predicted values, one for each target. */
export function scatterSection(
  targets: readonly { name: string; truth: readonly number[]; predictions: readonly number[] }[],
): Section {
  return {
    ...{ kind: "charts", title: "Predicted and true values" },
    text: "Each point is a test series. A perfect prediction lies on the dotted line.",
    charts: targets.map(({ name, truth, predictions }): Chart => {
      const ends = extent([...truth, ...predictions]);
      const marks: Mark[] = [
        { kind: "points", name: "test series", x: truth, y: predictions },
        { kind: "line", name: "prediction = truth", x: ends, y: ends, style: "reference" },
      ];
      const axis = (title: string) => ({ title, includes: ends });
      return { title: name, panels: [{ x: axis(`true ${name}`), y: axis(`predicted ${name}`), marks }] };
    }),
  };
}
