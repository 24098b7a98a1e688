/// <reference lib="dom" />
/** The choices of a model and a device, and what they mean. */
import { escapeText } from "../src/charts/format.ts";
import { byId, select, setOptions } from "./elements.ts";
import { futureModels, isClosedForm } from "./future.ts";

/** Models that classify. */
const classModels = [...select.model.options].map(({ value, text }) => [value, text]);

/** Offers the models that forecast, or those that classify. */
export function offerModels(forecasts: boolean): void {
  const models = forecasts ? futureModels : classModels;
  if (select.model.options[0].value !== models[0][0]) setOptions(select.model, models);
  byId("steps-label").hidden = !forecasts;
}

/** Shows the settings that the chosen model has. */
export function showModel(forecasts: boolean): void {
  const { value } = select.model;
  const isFitted = forecasts && isClosedForm(value);
  select.method.disabled = value === "warp" || isFitted;
  select.path.disabled = value === "warp" || forecasts;
  byId("about").textContent = isFitted
    ? "This model is fitted in closed form: it has no epochs, no control path and no solver."
    : forecasts
    ? "The model learns the errors of a linear forecast."
    : value === "warp"
    ? "WARP reads the observations one after the other: it has no control path and no solver."
    : "A causal path depends on past observations only, so the model predicts while a series arrives.";
}

/** Shows the command of the last training; undefined shows none. */
export function showCommand(command?: string): void {
  byId("command").hidden = command === undefined;
  byId("command").querySelector("pre")!.textContent = command ?? "";
}

/** Shows whether training can use a GPU. @param reason Why it cannot. */
export function showGpu(reason: string | undefined): void {
  if (!reason) return;
  select.device.querySelector<HTMLOptionElement>("[value=webgpu]")!.textContent = "WebGPU: missing";
  byId("about").insertAdjacentHTML(
    "afterend",
    `<p id="gpu" class="note">WebGPU is missing: ${
      escapeText(reason)
    }. Train on the CPU, or open this page in a browser with WebGPU.</p>`,
  );
}
