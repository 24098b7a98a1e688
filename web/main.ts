/// <reference lib="dom" />
/** The page of the playground. It draws; the worker computes. */
import { counted, formatNumber, formatPercent } from "../src/charts/format.ts";
import type { EpochMetrics } from "../src/train/report/epoch_metrics.ts";
import { trainingCharts } from "../src/train/report/training_charts.ts";
import { CallError, startWorker } from "./client.ts";
import { drawCharts } from "./drawings.ts";
import {
  act,
  button,
  byId,
  oneAtATime,
  onFiles,
  select,
  selectValue,
  setOptions,
  showStatus,
} from "./elements.ts";
import { download, isRun, onDrop, showPredictions } from "./files.ts";
import { futureName, futureSteps, isClosedForm } from "./future.ts";
import { type LinkState, linkState, pointsOf, pointsText, setLinkState, tableOf, tableText } from "./link.ts";
import type { Choice, DataInfo, DataName } from "./messages.ts";
import { hidePickers, markPicker, onPicked, type PickedTable, pickedTable, showPickers } from "./pickers.ts";
import { offerModels, showCommand, showGpu, showModel } from "./models.ts";
import { howToDraw } from "./pad.ts";
import { makeStage } from "./stage.ts";
import { trainedFile } from "./trained.ts";

const [epochs, steps] = [byId<HTMLInputElement>("epochs"), byId<HTMLInputElement>("steps")];
const full = byId<HTMLInputElement>("full");

/** Value in the list of series of the drawn series, and value in the list of data that are not examples. */
const [drawn, own] = ["drawn series", "own"];
/** Maximum number of series in the list. */
const mostSeries = 60;

let info: DataInfo;
let metrics: EpochMetrics[] = [];
let [isTraining, isPaused, isTrained] = [false, false, false];
/** Whether a table is chosen that cannot be read yet. */
let isUnread = false;
/** Ends when the data that were chosen last are open. A training begins after that. */
let opening: Promise<void> = Promise.resolve();
/** Number of trainings so far, to see whether another one has begun. */
let trainings = 0;
/** Number of epochs of the last training, for the link; undefined for weights that come with the page. */
let trainedEpochs: number | undefined;
/** The visitor's table in the link, after the visitor has copied it. */
let shared: Pick<LinkState, "table" | "file"> = {};

const { call } = startWorker((epoch, look) => {
  metrics.push(epoch);
  isTrained = true;
  const count = epochCount();
  byId<HTMLProgressElement>("progress").value = epoch.epoch / count;
  const { accuracy, loss } = epoch.validation;
  const measured = accuracy === undefined
    ? `the validation loss is ${formatNumber(loss)}.`
    : `${formatPercent(accuracy, 1)} of the validation series are correct.`;
  showStatus(`${isPaused ? "Paused: epoch" : "Epoch"} ${epoch.epoch} of ${count}: ${measured}`);
  if (look) stage.show(look);
  if (isPaused || performance.now() >= curvesFrom) drawCurves();
  showButtons();
});
const stage = makeStage(call, showState);

const isForecast = () => info?.futureSteps !== undefined;
const isFitted = () => isForecast() && isClosedForm(select.model.value);
/** Number of epochs of a training with the chosen settings. */
const epochCount = () => isFitted() ? 1 : epochs.valueAsNumber;

function showButtons(): void {
  const canTrain = !isUnread && info.series.length > 0;
  button.train.disabled = isTraining || !canTrain;
  button.pause.disabled = button.stop.disabled = !isTraining;
  button.pause.textContent = isPaused ? "Continue" : "Pause";
  button.step.disabled = isTraining && !isPaused || !canTrain;
  button.save.disabled = !isTrained;
  button["test-series"].disabled = !isTrained || !canTrain || isForecast();
  epochs.disabled = isFitted();
  showModel(isForecast());
}

/** Shows which series is on the pad, in the list and in the address. */
function showState(): void {
  const { shown, moment, isPlaying, pad } = stage;
  select.series.value = typeof shown === "string" ? shown : drawn;
  const changed = (id: "model" | "path" | "method" | "device") => {
    const { value, options, selectedOptions: [{ className }] } = select[id];
    if (className === "extra") return undefined;
    const initial = [...options].find(({ defaultSelected }) => defaultSelected) ?? options[0];
    return value === initial.value ? undefined : value;
  };
  const changedNumber = ({ value, defaultValue }: HTMLInputElement) =>
    value === defaultValue ? undefined : value;
  const example = select.example.value;
  setLinkState({
    example: example === "spirals" ? undefined : example,
    ...{
      model: changed("model"),
      path: changed("path"),
      method: changed("method"),
      device: changed("device"),
    },
    ...{ epochs: changedNumber(epochs), steps: isForecast() ? changedNumber(steps) : undefined },
    channel: select.channel.value === "0" ? undefined : select.channel.value,
    full: full.checked ? "1" : undefined,
    after: trainedEpochs === undefined ? undefined : `${trainedEpochs}`,
    series: typeof shown === "string" && !isPlaying ? shown : undefined,
    moment: isPlaying || shown.length === 0 ? undefined : `${Math.min(moment, 999)}`,
    draw: pointsText(pad.points),
    ...shared,
    columns: shared.table && JSON.stringify({ ...pickedTable(), file: undefined }),
  });
}

/** Minimum time between two drawings of the curves, in milliseconds. */
const curvesInterval = 250;
let curvesFrom = 0;

function drawCurves(): void {
  if (isFitted()) return;
  curvesFrom = performance.now() + curvesInterval;
  byId("training").hidden = false;
  void drawCharts(byId("curves"), trainingCharts(metrics, { metric: { name: "loss" } }));
}

/** Ignores the end of a training whose data are replaced. */
function leaveTraining(): void {
  trainings++;
  [isTraining, isPaused] = [false, false];
}

/** Shows new data, or those of a run that was opened. @param text Name of data that are not an example. */
function useData(found: DataInfo, text?: string): void {
  info = found;
  isUnread = false;
  [metrics, trainedEpochs, isTrained] = [[], undefined, info.trained !== undefined];
  byId<HTMLProgressElement>("progress").value = 0;
  const { series, channels, classes, trained } = info;
  offerModels(isForecast());
  selectValue(select.example, text === undefined ? info.name : own, text);
  selectValue(select.model, trained?.model ?? select.model.value);
  byId("data").textContent = [
    ...series.length > 0 ? [`${series.length} series`] : [],
    ...classes.length > 0 ? [`${classes.length} classes: ${classes.join(", ")}`] : [],
    ...info.notices,
  ].join("; ");
  setOptions(select.series, [
    ...series.slice(0, mostSeries).map(({ name, label }) => [name, label ? `${name}: ${label}` : name]),
    [drawn, drawn],
  ]);
  setOptions(select.channel, channels.map(({ name }, c) => [`${c}`, name]));
  byId("channel-label").hidden = channels.length <= (isForecast() ? 1 : 2);
  byId("training").hidden = byId("predictions").hidden = true;
  showCommand();
  useStage();
  showButtons();
}

function useStage(): void {
  const [{ channels }, channel] = [info, Number(select.channel.value || 0)];
  stage.use(info, channel);
  byId("how").textContent = howToDraw(channels.map(({ name }) => name), channel, isForecast());
}

/** Trains from nothing. @param stopAfter Number of epochs of a training that was stopped, to repeat it. */
async function train(isStep = false, stopAfter?: number): Promise<void> {
  if (!epochs.reportValidity()) return;
  const choice: Choice = {
    model: select.model.value,
    path: select.path.value as Choice["path"],
    method: select.method.value,
    device: select.device.value as Choice["device"],
    epochs: epochs.valueAsNumber,
    stopAfter,
  };
  const current = ++trainings;
  const { isPlaying } = stage;
  [metrics, isTraining, isPaused, trainedEpochs] = [[], true, isStep, undefined];
  stage.isPlaying = false;
  if (typeof stage.shown === "string") {
    stage.moment = Math.ceil((isForecast() ? 1 : 0.4) * Number(byId<HTMLInputElement>("moment").max)) || 1e6;
  }
  showButtons();
  showStatus("Preparing ...");
  showState();
  let status = "Not trained.";
  try {
    await call("pause", isStep);
    const { accuracy, verdict = "trained.", isStopped, device, command } = await call("train", choice);
    showCommand(command);
    const result = accuracy === undefined
      ? verdict
      : `${formatPercent(accuracy, 1)} of the test series are correct.`;
    status = isStopped ? `Stopped after ${counted(metrics.length, "epoch")}.` : `Done: ${result} ${device}.`;
  } finally {
    if (current === trainings) {
      [isTraining, isPaused, trainedEpochs] = [false, false, metrics.length || undefined];
      showStatus(status);
      if (metrics.length > 0) drawCurves();
      showButtons();
    }
  }
  if (current !== trainings) return;
  await stage.look();
  stage.isPlaying = isPlaying;
  showState();
}

/** Trains from nothing when the chosen data are open, unless other data were chosen since then. */
async function trainOpened(isStep = false): Promise<void> {
  const chosen = opening;
  // The visitor has seen why data could not be opened.
  await chosen.catch(() => {});
  if (chosen === opening && !isTraining && !isUnread) await train(isStep);
}

/** Whether a training with the chosen settings has its weights with the page. */
const hasWeights = () =>
  select.path.value === "hermite" && select.method.value === "midpoint" &&
  steps.valueAsNumber === futureSteps;

/** Opens example data, with a model that is trained, or trains one. @param after Number of epochs to train. */
async function openExample(after?: number): Promise<void> {
  const name = select.example.value as DataName;
  offerModels(name === futureName);
  if (select.model.selectedOptions[0].className === "extra") select.model.selectedIndex = 0;
  if (!steps.reportValidity()) return;
  leaveTraining();
  const trained = after === undefined && hasWeights()
    ? await trainedFile(name, select.model.value)
    : undefined;
  hidePickers();
  shared = {};
  useData(await call("load", name, { trained, steps: steps.valueAsNumber }));
  if (info.trained) {
    const { selectedOptions: [{ text }] } = select.model;
    const accuracy = formatPercent(info.trained.accuracy ?? NaN, 1);
    showStatus(
      isForecast()
        ? `${text}, trained: draw the past of a curve from left to right, and its future follows.`
        : `${text}, trained: ${accuracy} of the test series are correct. Draw a series, or press Train.`,
    );
    stage.isPlaying = !stillness.matches;
    await stage.choose(stage.shown, stillness.matches ? undefined : 0);
  } else await train(false, stopAfter(after));
}

/** The epoch after which a training of a link was stopped. */
const stopAfter = (after?: number) => after !== undefined && after < epochCount() ? after : undefined;

/** Shows the columns of a visitor's table, and reads it. @param given Purpose and columns of a table of a link. */
async function openTable(file: File, given?: Omit<PickedTable, "file">): Promise<void> {
  shared = {};
  showPickers(file, await call("columns", file), given);
  await readPicked();
}

/** Reads the chosen table with the chosen columns. Tables that training would reject are rejected here. */
const readPicked = oneAtATime(async () => {
  const { file, table, task } = pickedTable()!;
  if (!steps.reportValidity()) return;
  markPicker();
  isUnread = true;
  showButtons();
  showStatus(`${file.name} is not read: choose its columns below.`);
  const found = await call("load", file, { table, task, steps: steps.valueAsNumber }).catch((error) => {
    markPicker(error instanceof CallError ? error.fault.option : undefined);
    throw error;
  });
  leaveTraining();
  useData(found, `own table: ${file.name}`);
  showStatus(`${file.name} is read: ${found.series.length} series. Press Train.`);
  if (!isForecast()) return;
  stage.isPlaying = false;
  await stage.choose(stage.shown);
});

async function openRun(files: readonly File[]): Promise<void> {
  const found = await call("open", files, select.device.value as Choice["device"]);
  leaveTraining();
  hidePickers();
  shared = {};
  useData(found, "the data of a run");
  stage.pad.clear();
  showStatus("The run is open: draw a series, or predict a table.");
}

/** Whether the visitor prefers pages that do not move. */
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

/** Shows the state in the address. */
async function restore(): Promise<void> {
  const state = linkState();
  const given: Omit<PickedTable, "file"> | undefined = state.columns && JSON.parse(state.columns);
  offerModels(state.example === futureName || given?.task === "forecast");
  for (const id of ["example", "model", "path", "method", "device"] as const) {
    const value = state[id];
    if (value !== undefined && [...select[id].options].some((option) => option.value === value)) {
      select[id].value = value;
    }
  }
  if (state.epochs) epochs.value = state.epochs;
  if (state.steps) steps.value = state.steps;
  full.checked = state.full === "1";
  const after = Number(state.after) > 0 ? Number(state.after) : undefined;
  await call("watch", !full.checked && after === undefined);
  if (state.table) {
    await openTable(await tableOf(state.table, state.file), given);
    shared = { table: state.table, file: state.file };
    if (after) await train(false, stopAfter(after));
  } else {
    await openExample(after);
    if (state.example === own) showStatus("The sender of this link used data that are not in the link.");
  }
  if (select.channel.options[Number(state.channel)]) {
    select.channel.value = state.channel!;
    useStage();
    await stage.choose(stage.shown);
  }
  await call("watch", !full.checked);
  const points = pointsOf(state.draw);
  if (points.length > 0) {
    stage.pad.draw(points);
    await stage.choose(stage.shown, Number(state.moment ?? Infinity));
  } else if (state.series !== undefined) {
    stage.isPlaying = false;
    await stage.choose(state.series, Number(state.moment ?? Infinity));
  }
}

const isExample = () => select.example.value !== own;
select.example.addEventListener("change", () =>
  act(async () => {
    if (isExample()) await (opening = openExample());
  }));
select.model.addEventListener("change", () =>
  act(async () => {
    showButtons();
    if (isExample()) await (opening = openExample());
  }));
for (const id of ["path", "method", "device"] as const) select[id].addEventListener("change", showState);
epochs.addEventListener("change", showState);
steps.addEventListener("change", () => act(() => isExample() ? opening = openExample() : readPicked()));
full.addEventListener("change", () => {
  void call("watch", !full.checked);
  showState();
});
select.series.addEventListener("change", () =>
  act(async () => {
    stage.isPlaying = false;
    if (select.series.value === drawn) stage.pad.clear();
    else await stage.choose(select.series.value);
  }));
select.channel.addEventListener("change", useStage);
byId("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  void act(() => trainOpened());
});
button.pause.addEventListener("click", () => {
  isPaused = !isPaused;
  showButtons();
  void call("pause", isPaused);
});
button.step.addEventListener("click", () => act(() => isTraining ? call("step") : trainOpened(true)));
button.stop.addEventListener("click", () => act(() => call("stop")));
button.clear.addEventListener("click", () => stage.pad.clear());
button.share.addEventListener("click", () =>
  act(async () => {
    stage.isPlaying = false;
    const { file } = pickedTable() ?? {};
    if (file) shared = { table: await tableText(file), file: file.name };
    showState();
    await navigator.clipboard.writeText(location.href);
    const how = shared.table ? " with your table" : " without your table, which is too large for an address";
    showStatus(`The link is copied${file ? how : ""}.`);
  }));
button.save.addEventListener(
  "click",
  () => act(async () => download("weft-run.zip", await call("save"), "application/zip")),
);
button["test-series"].addEventListener(
  "click",
  () => act(async () => download("test-series.csv", await call("testSeries"), "text/csv")),
);
onPicked(() => act(readPicked));
button.own.addEventListener("click", () => byId("table").click());
onFiles("table", ([file]) => openTable(file));
onFiles("folder", (files) => opening = openRun(files));
onFiles("archive", (files) => opening = openRun(files));
onFiles("new", async ([file]) => showPredictions(file.name, await call("predict", file)));
onDrop((files) => {
  if (files.length > 0) void act(() => isRun(files) ? opening = openRun(files) : openTable(files[0]));
});
addEventListener("hashchange", () => location.reload());

await act(restore);
showGpu(await call("whyNoGpu"));
