/** Report of a run as a web page. */
import { escapeSentence, escapeText, formatDuration } from "../../charts/format.ts";
import { renderPage } from "../../charts/page.ts";
import { renderSection } from "../../charts/render.ts";
import type { Section } from "../../charts/section.ts";
import { formatMeasure, measureName, sortMeasures } from "./measure_names.ts";
import { settingsOf, settingText, wordsOf } from "./report_settings.ts";
import type { EpochMetrics } from "./epoch_metrics.ts";
import type { Task } from "../task.ts";
import { isValidated, parts, trainingCharts } from "./training_charts.ts";

/** Content of a report. */
export interface ReportContent {
  /** Settings, shown in a table. */
  readonly config: Readonly<Record<string, unknown>> & { readonly experiment: string };
  /** Options of the experiment, whose help texts explain the settings. */
  readonly options?: Readonly<Record<string, { readonly help: string }>>;
  /** Settings that were chosen from the data, in words: see {@linkcode Task.chosen}. */
  readonly chosen?: Readonly<Record<string, string>>;
  /** Settings without effect on the model, which are omitted: see {@linkcode Task.unused}. */
  readonly unused?: readonly string[];
  /** Lines about the data. */
  readonly description?: readonly string[];
  /** The main result in a sentence, shown first. */
  readonly verdict?: string;
  /** Measure that the verdict compares; by default {@linkcode ReportContent.metric}. It is shown before the others. */
  readonly verdictMeasure?: string;
  /** Metrics of each complete epoch, drawn as curves and shown in a table. */
  readonly metrics: readonly EpochMetrics[];
  /** Measure that decides which epoch is the best. */
  readonly metric: Task["metric"];
  /** Result of a completed run: see {@linkcode RunSummary}. */
  readonly summary?: {
    readonly test: Readonly<Record<string, number>>;
    readonly baselines?: Readonly<Record<string, Readonly<Record<string, number>>>>;
    readonly bestEpoch: number;
    readonly parameters: number;
    readonly seconds: number;
    readonly deviceDescription: string;
  };
  /** Sections about the predictions. */
  readonly sections?: readonly Section[];
}

/** State of a run that has no summary. */
export interface RunState {
  /** Sentence about the state. */
  readonly sentence: string;
  /** Further tiles. */
  readonly tiles: readonly Tile[];
}

/** A value with its label. */
type Tile = readonly [label: string, value: string];

/**
 * Renders a run as one HTML page without external resources: its measures, curves of training and validation,
 * sections about its predictions, the data, the configuration and a table of epochs.
 *
 * @returns Text of the page, for a file such as `report.html`.
 */
export function renderReport(content: ReportContent): string {
  return renderPage(reportPage(content));
}

/**
 * Renders sections as one HTML page without external resources, for example a comparison of runs.
 *
 * @param title Title of the page.
 * @param text Paragraph below the title.
 * @returns Text of the page.
 */
export function renderSections(title: string, text: string, sections: readonly Section[]): string {
  return renderPage({
    title,
    body: `<p>${escapeText(text)}</p>\n${sections.map(renderSection).join("\n")}`,
  });
}

/**
 * Title and body of a report.
 *
 * @param running State of the run in training. By default the run is complete or stopped.
 */
export function reportPage(content: ReportContent, running?: RunState): { title: string; body: string } {
  const { config, metrics, metric, summary, verdict, description = [], sections = [] } = content;
  const epochs = `${metrics.length} epoch${metrics.length === 1 ? "" : "s"}`;
  const best = !isValidated(metrics)
    ? ""
    : ` The best epoch has the ${metric.mode === "max" ? "largest" : "smallest"} validation ${
      measureName(metric.name)
    }.`;
  const state = running
    ? running.sentence
    : summary
    ? isClosedForm(metrics)
      ? `Experiment ${config.experiment}, fitted in closed form on ${summary.deviceDescription}.`
      : `Experiment ${config.experiment}, trained for ${epochs} on ${summary.deviceDescription}.${best}`
    : `Experiment ${config.experiment}, stopped after ${metrics.length}${
      config.epochs === undefined ? "" : ` of ${config.epochs}`
    } epochs. --resume continues the run.`;
  const shown: Section[] = [
    ...(summary?.baselines ? [baselineTable(summary.test, summary.baselines, firstMeasure(content))] : []),
    ...sections,
    ...(description.length > 0 ? [{ kind: "text", title: "Data", lines: description } as const] : []),
    configuration(content),
    ...(metrics.length > 0 ? [epochTable(metrics, metric.name)] : []),
  ];
  const charts: Section[] = metrics.length > 0 && !isClosedForm(metrics)
    ? [{
      kind: "charts",
      title: "Training",
      charts: trainingCharts(metrics, { metric, bestEpoch: summary?.bestEpoch }),
    }]
    : [];
  return {
    title: runTitle({ ...config, model: content.chosen?.model ?? config.model }),
    body: `${verdict === undefined ? "" : `<p class="verdict">${escapeSentence(verdict)}</p>\n`}<p>${
      escapeText(state)
    }</p>
${tiles(content, running?.tiles)}
${[...charts, ...shown].map(renderSection).join("\n")}`,
  };
}

/** Whether a task was fitted in closed form: it has a single epoch without a learning rate. */
function isClosedForm(metrics: readonly EpochMetrics[]): boolean {
  return metrics.length > 0 && metrics[0].learningRate === undefined;
}

/** Measure that is shown first. */
function firstMeasure({ metric, verdictMeasure = metric.name }: ReportContent): string {
  return verdictMeasure;
}

/** Title of a run: its data, or its experiment if it has no data, and its model. */
export function runTitle({ experiment, data, model }: ReportContent["config"]): string {
  const file = typeof data === "string" ? data.replace(/[\\/]+$/, "").replace(/^.*[\\/]/, "") : "";
  const name = file.replace(/(?<=.)(\.(csv|tsv|txt|jsonl?|ndjson|parquet|zip|gz|db|sqlite3?))+$/i, "");
  return [name || experiment, ...(typeof model === "string" ? [model] : [])].join(": ");
}

function tiles(content: ReportContent, further: readonly Tile[] = []): string {
  const { summary, metrics } = content;
  const last = metrics.at(-1);
  const [part, measures] = summary ? ["test", summary.test] : ["validation", last?.validation ?? {}];
  const seconds = summary?.seconds ?? last?.seconds;
  // The loss is one of these measures, before calibration or under another name.
  const lossName = ["logLoss", "mse"].find((name) => name in measures) ?? "loss";
  const names = Object.keys(measures).filter((name) => name !== "loss" || lossName === "loss");
  const first = firstMeasure(content);
  const chosen = first === "loss" ? lossName : first;
  const values: Tile[] = [
    ...sortMeasures(names, chosen).map((name): Tile => [
      `${part} ${measureName(name)}`,
      formatMeasure(name, measures[name]),
    ]),
    ...(summary && !isClosedForm(metrics) && isValidated(metrics)
      ? [["best epoch", `${summary.bestEpoch}`] as const]
      : []),
    ...(summary ? [["parameters", summary.parameters.toLocaleString("en")] as const] : []),
    ...(seconds === undefined ? [] : [["training time", formatDuration(seconds)] as const]),
    ...further,
  ];
  const tile = ([label, value]: Tile) => {
    const isChosen = label === `${part} ${measureName(chosen)}`;
    return `<div class="tile${isChosen ? " chosen" : ""}"><b>${escapeText(value)}</b><span>${
      escapeText(label)
    }</span></div>`;
  };
  return `<div class="tiles">${values.map(tile).join("")}</div>`;
}

function configuration({ config, options = {}, chosen = {}, unused = [] }: ReportContent): Section {
  return {
    kind: "table",
    title: "Configuration",
    head: ["setting", "value", "meaning"],
    rows: settingsOf({ ...config, ...chosen }).filter(([name]) => !unused.includes(name))
      .map(([name, value]) => {
        const [words, help = ""] = [wordsOf(name), options[name]?.help];
        return [words, settingText(value), help === words ? "" : help];
      }),
    texts: [0, 1, 2],
  };
}

/**
 * Measures of the model and of the baselines, without those that no baseline has.
 *
 * @param chosen Measure that is shown first.
 */
function baselineTable(
  measures: Readonly<Record<string, number>>,
  baselines: Readonly<Record<string, Readonly<Record<string, number>>>>,
  chosen?: string,
): Section {
  const compared = Object.keys(measures).filter((name) =>
    Object.values(baselines).some((baseline) => name in baseline)
  );
  const names = sortMeasures(compared, chosen);
  const columns = Object.entries({ "the model": measures, ...baselines });
  return {
    ...{ kind: "table", title: "The model and simple baselines" },
    text: "Measures on the test set. A useful model is better than these simple predictions.",
    head: ["measure", ...columns.map(([name]) => name)],
    rows: names.map((name) => [
      measureName(name),
      ...columns.map(([, columnMeasures]) =>
        name in columnMeasures ? formatMeasure(name, columnMeasures[name]) : "–"
      ),
    ]),
  };
}

function epochTable(metrics: readonly EpochMetrics[], chosen: string): Section {
  const columns = sortMeasures(
    [...Object.keys(metrics[0].validation), ...Object.keys(metrics[0].train)],
    chosen,
  ).flatMap((name) =>
    parts.filter(([part]) => name in metrics[0][part]).map(([part, label]) => ({ name, part, label }))
  );
  return {
    kind: "table",
    title: "Epochs",
    isFolded: true,
    head: [
      "epoch",
      ...columns.map(({ label, name }) => `${label} ${measureName(name)}`),
      ...(isClosedForm(metrics) ? [] : ["learning rate"]),
      "time",
    ],
    rows: metrics.map((line) => [
      `${line.epoch}`,
      ...columns.map(({ part, name }) => formatMeasure(name, line[part][name])),
      ...(line.learningRate === undefined ? [] : [line.learningRate]),
      formatDuration(line.seconds),
    ]),
  };
}
