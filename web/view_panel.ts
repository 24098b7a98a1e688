/// <reference lib="dom" />
/** The panel of the page that shows the inside of a model: charts along time, and the matrices at a chosen time. */
import { drawCharts, matrixPictures, timeText, viewCharts } from "./drawings.ts";
import { byId } from "./elements.ts";
import type { DataInfo, View } from "./messages.ts";

const moment = byId<HTMLInputElement>("moment");
const dark = matchMedia("(prefers-color-scheme: dark)");

let view: View | undefined;

/** Hides the panel. */
export function hideView(): void {
  view = undefined;
  byId("inside").hidden = true;
}

/** Shows a view, or a text in place of a missing view. */
export function showView(found: View | undefined, { channels, classes }: DataInfo, missing: string): void {
  view = found;
  byId("inside").hidden = false;
  byId("view").textContent = view ? "" : missing;
  const names = { channels: channels.map(({ name }) => name), classes };
  void drawCharts(byId("charts"), view ? viewCharts(view, names) : []);
  byId("state").hidden = !view || view.matrices.length === 0;
  if (!view) return;
  const last = view.states.length - 1;
  if (moment.max !== `${last}`) [moment.max, moment.value] = [`${last}`, `${last}`];
  showMoment();
}

/** Shows the matrices in the state at the chosen time. */
function showMoment(): void {
  if (!view) return;
  const at = Math.min(moment.valueAsNumber, view.states.length - 1);
  byId("moment-text").textContent = timeText(view, at);
  byId("matrices").innerHTML = matrixPictures(view, at, dark.matches ? "dark" : "light");
}

moment.addEventListener("input", showMoment);
dark.addEventListener("change", showMoment);
