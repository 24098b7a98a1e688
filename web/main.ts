/// <reference lib="dom" />
/** The page of the playground. It draws; the worker computes. */
import { counted, escapeText, formatPercent } from "../src/charts/format.ts";
import type { EpochMetrics } from "../src/train/report/epoch_metrics.ts";
import { trainingCharts } from "../src/train/report/training_charts.ts";
import { startWorker } from "./client.ts";
import { drawCharts } from "./drawings.ts";
import { act, button, byId, onFiles, select, setOptions, showFault, showStatus } from "./elements.ts";
import type { ExampleName } from "./examples.ts";
import { download, isRun, onDrop } from "./files.ts";
import type { Answer, Choice, DataInfo } from "./messages.ts";
import { drawingPad } from "./pad.ts";
import { hideView, showView } from "./view_panel.ts";

const epochs = byId<HTMLInputElement>("epochs");

/** Name in the list of series of the drawn series. */
const drawn = "drawn series";
/** Maximum number of series in the list. */
const mostSeries = 60;
/** Maximum share of the training time that is spent looking inside the model. */
const lookShare = 0.15;

let info: DataInfo;
let metrics: EpochMetrics[] = [];
let [isTraining, isPaused, isTrained] = [false, false, false];
/** Whether the worker looks inside the model, whether it must look again, and the earliest time to do so in training. */
let [isLooking, isLookDue, lookFrom] = [false, false, 0];

const { call } = startWorker((epoch, count) => {
  metrics.push(epoch);
  if (!isTrained) {
    isTrained = true;
    showAnswer();
  }
  byId<HTMLProgressElement>("progress").value = epoch.epoch / count;
  const { accuracy } = epoch.validation;
  showStatus(
    `${isPaused ? "Paused: epoch" : "Epoch"} ${epoch.epoch} of ${count}: ${
      formatPercent(accuracy)
    } of the held-out series are correct.`,
  );
  if (isPaused || performance.now() >= curvesFrom) drawCurves();
  showButtons();
  if (isPaused || !isLooking && performance.now() >= lookFrom) void look().catch(showFault);
});

function showButtons(): void {
  button.train.disabled = isTraining;
  button.pause.disabled = button.stop.disabled = !isTraining;
  button.pause.textContent = isPaused ? "Continue" : "Pause";
  button.step.disabled = isTraining && !isPaused;
  button.save.disabled = !isTrained;
  button["held-out"].disabled = !isTrained || info.series.length === 0;
  const alongPath = select.model.value !== "warp";
  select.path.disabled = select.method.disabled = !alongPath;
  byId("about").textContent = alongPath
    ? "A causal path depends on past observations only, so the model predicts while a series arrives."
    : "WARP reads the observations one after the other: it has no control path and no solver.";
}

/** Minimum time between two drawings of the curves, in milliseconds. */
const curvesInterval = 250;
let curvesFrom = 0;

function drawCurves(): void {
  curvesFrom = performance.now() + curvesInterval;
  byId("training").hidden = false;
  void drawCharts(byId("curves"), trainingCharts(metrics, { metric: { name: "loss" } }));
}

/** Shows new data, or those of a run that was opened. */
function useData(found: DataInfo): void {
  info = found;
  metrics = [];
  byId<HTMLProgressElement>("progress").value = 0;
  const { series, channels, classes } = info;
  const counts = `${series.length} series of ${classes.length} ${
    classes.length === 1 ? "class" : "classes"
  } (${classes.join(", ")})`;
  byId("data").textContent = series.length > 0
    ? [counts, ...info.notices].join("; ")
    : `classes: ${classes.join(", ")}`;
  const options = series.slice(0, mostSeries).map(({ name, label }) => [name, `${name}: ${label}`]);
  setOptions(select.series, [...options, [drawn, drawn]]);
  if (series.length === 0) select.series.value = drawn;
  setOptions(select.channel, channels.map(({ name }, c) => [`${c}`, name]));
  byId("channel-label").hidden = channels.length <= 2;
  byId("training").hidden = true;
  hideView();
  usePad();
  showAnswer();
  showButtons();
}

function usePad(): void {
  const { channels, gap } = info;
  const isPlane = channels.length === 2;
  byId("how").textContent = `${
    isPlane
      ? `Draw with the pointer; right is ${channels[0].name}, up is ${channels[1].name}.`
      : "Draw a curve from left to right with the pointer; right is the time."
  } By keyboard: arrow keys move the pen (with Shift, by small steps), the space bar adds an observation, Escape starts a new series.`;
  pad.use({ channels, gap, length: 24, channel: isPlane ? undefined : Number(select.channel.value || 0) });
}

async function train(isStep: boolean): Promise<void> {
  if (!epochs.reportValidity()) return;
  const choice: Choice = {
    model: select.model.value,
    path: select.path.value as Choice["path"],
    method: select.method.value,
    device: select.device.value as Choice["device"],
    epochs: epochs.valueAsNumber,
  };
  [metrics, isTraining, isPaused, lookFrom] = [[], true, isStep, 0];
  showButtons();
  showStatus("Preparing ...");
  try {
    await call("pause", isStep);
    const { accuracy, device } = await call("train", choice);
    showStatus(
      accuracy === undefined
        ? `Stopped after ${counted(metrics.length, "epoch")}.`
        : `Done: ${formatPercent(accuracy)} of the test series are correct. ${device}.`,
    );
  } catch (error) {
    showStatus("Not trained.");
    throw error;
  } finally {
    [isTraining, isPaused] = [false, false];
    if (metrics.length > 0) drawCurves();
    showButtons();
  }
  await look();
}

/** Looks inside the model along the chosen series. A call during a look starts another look after it. */
async function look(): Promise<void> {
  isLookDue = true;
  if (isLooking || !isTrained) return;
  isLooking = true;
  try {
    while (isLookDue) {
      isLookDue = false;
      const start = performance.now();
      const [{ value }, data] = [select.series, info];
      const found = await call("look", value === drawn ? undefined : value);
      // The data may be others now.
      if (info === data && isTrained) showView(found, info, whyNoView());
      const now = performance.now();
      lookFrom = now + (now - start) / lookShare;
    }
  } finally {
    isLooking = false;
  }
}

function whyNoView(): string {
  return select.series.value === drawn
    ? "Draw a series of two observations or more."
    : "The inside of this model is not drawn.";
}

/** Shows the prediction after a number of observations. */
function showAnswer(answer?: Answer, count = 0): void {
  byId("answer").textContent = answer
    ? `${answer.label}: ${formatPercent(answer.probabilities[answer.label])} after ${
      counted(count, "observation")
    }`
    : isTrained
    ? ""
    : "Train a model first.";
  byId("classes").innerHTML = Object.entries(answer?.probabilities ?? {}).map(([name, share]) => {
    const text = escapeText(name);
    return `<span>${text}</span><progress value="${share}" max="1" aria-label="${text}"></progress>`;
  }).join("");
}

/** Observations take effect in order; those of an earlier series show no answer. */
let [drawing, count, pushing] = [0, 0, Promise.resolve()];

const pad = drawingPad(byId<SVGSVGElement>("pad"), {
  onStart() {
    [drawing, count] = [drawing + 1, 0];
    showAnswer();
    pushing = pushing.then(() => call("begin"));
  },
  onObservation(time, values) {
    if (!isTrained) return;
    const [current, place] = [drawing, ++count];
    pushing = pushing.then(() =>
      act(async () => {
        const answer = await call("push", time, values);
        if (answer && current === drawing) showAnswer(answer, place);
      })
    );
  },
  onEnd() {
    if (!isTrained) return;
    pushing = pushing.then(() => {
      select.series.value = drawn;
      return look().catch(showFault);
    });
  },
});

async function loadData(source: ExampleName | File): Promise<void> {
  const found = await call("load", source);
  isTrained = false;
  useData(found);
  if (source instanceof File) showStatus(`${source.name} is read. Press Train.`);
  else showStatus("Press Train.");
}

async function openRun(files: readonly File[]): Promise<void> {
  const found = await call("open", files, select.device.value as Choice["device"]);
  isTrained = true;
  useData(found);
  showStatus("The run is open: draw a series, or predict a table.");
}

const loadExample = () => act(() => loadData(select.example.value as ExampleName));
select.example.addEventListener("change", loadExample);
select.model.addEventListener("change", showButtons);
select.series.addEventListener("change", () => act(look));
select.channel.addEventListener("change", usePad);
byId("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  void act(() => train(false));
});
button.pause.addEventListener("click", () => {
  isPaused = !isPaused;
  showButtons();
  void call("pause", isPaused);
});
button.step.addEventListener("click", () => act(() => isTraining ? call("step") : train(true)));
button.stop.addEventListener("click", () => act(() => call("stop")));
button.clear.addEventListener("click", () => pad.clear());
button.save.addEventListener(
  "click",
  () => act(async () => download("weft-run.zip", await call("save"), "application/zip")),
);
button["held-out"].addEventListener(
  "click",
  () => act(async () => download("held-out.csv", await call("heldOut"), "text/csv")),
);
onFiles("table", ([file]) => loadData(file));
onFiles("folder", openRun);
onFiles("archive", openRun);
onFiles("new", async ([file]) => {
  const lines = byId("lines");
  lines.textContent = await call("predict", file);
  lines.hidden = false;
});
onDrop((files) => {
  if (files.length > 0) void act(() => isRun(files) ? openRun(files) : loadData(files[0]));
});

await loadExample();
const reason = await call("whyNoGpu");
if (reason) {
  const option = select.device.querySelector<HTMLOptionElement>("[value=webgpu]")!;
  option.textContent = "WebGPU: missing";
  byId("about").insertAdjacentHTML(
    "afterend",
    `<p id="gpu" class="note">WebGPU is missing: ${
      escapeText(reason)
    }. Train on the CPU, or open this page in a browser with WebGPU.</p>`,
  );
}
