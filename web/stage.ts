/// <reference lib="dom" />
/** The stage of a page: the pad, the prediction, and the inside of the model along the shown series, which plays. */
import { counted, escapeText, formatNumber, formatPercent } from "../src/charts/format.ts";
import type { Client } from "./client.ts";
import { drawCharts, forecastChart, matrixPictures, timeText, viewCharts } from "./drawings.ts";
import { byId, oneAtATime, showFault } from "./elements.ts";
import type { DataInfo, Look, Next, Shown } from "./messages.ts";
import { pastSteps } from "./future.ts";
import { drawingPad, type Pad } from "./pad.ts";

/** Milliseconds between two moments of a series that plays. */
const tick = 150;
/** Ticks that the end of a series stays. */
const rest = 10;
/** Observations that a drawing over time can have. */
const length = 32;

/** State and functions of the stage. */
export interface Stage {
  readonly pad: Pad;
  /** The series that is shown, and the moment of it. */
  readonly shown: Shown;
  moment: number;
  /** Whether the shown series plays. */
  isPlaying: boolean;
  /** Shows new data, and their first series. @param channel Index of the channel that is drawn over time. */
  use(info: DataInfo, channel?: number): void;
  /** Chooses the series that is shown. @param moment Its moment; the last one by default. */
  choose(shown: Shown, moment?: number): Promise<void>;
  /** Looks again along the shown series. */
  look(): Promise<void>;
  /** Shows what was found. */
  show(look: Look | undefined): void;
  /** Ends the stage. */
  stop(): void;
}

/** Makes the stage. @param onChange Called after a change of the shown series, or of its moment by the visitor. */
export function makeStage(call: Client["call"], onChange: () => void = () => {}): Stage {
  const slider = byId<HTMLInputElement>("moment");
  const play = byId("play");
  /** The colours of the page, which may follow a switch or the system. */
  const scheme = () => getComputedStyle(play).getPropertyValue("--card").trim() === "#fff" ? "light" : "dark";
  let info: DataInfo | undefined;
  /** Index of the channel that is drawn over time. */
  let channel = 0;
  let found: Look | undefined;
  let [shown, moment, isPlaying, waited]: [Shown, number, boolean, number] = [[], 0, false, 0];
  let isLooking = false;

  const pad = drawingPad(byId<SVGSVGElement>("pad"), byId<HTMLCanvasElement>("plane"), (rows) => {
    setPlaying(false);
    [shown, moment] = [rows, Math.max(0, rows.length - 1)];
    if (rows.length === 0) show(undefined);
    else void look().catch(showFault);
    onChange();
  });

  const setPlaying = (on: boolean) => {
    isPlaying = on;
    play.textContent = on ? "Pause the series" : "Play the series";
  };

  /** Looks inside the model. */
  const look = oneAtATime(async () => {
    isLooking = true;
    const [data, series] = [info, shown];
    const answer = await call("look", series, moment).finally(() => isLooking = false);
    if (info === data && shown === series) show(answer);
  });

  /** Asks for the predictions after the moment. */
  const askNext = oneAtATime(async () => {
    const current: Look | undefined = found;
    if (!current || !current.next.plane && info?.futureSteps === undefined) return;
    const next = await call("next", moment);
    if (found === current) showNext(next ?? {});
  });

  function showNext({ plane, forecasts }: Next): void {
    pad.showPlane(plane);
    const forecast = forecasts?.[channel];
    pad.showForecast(forecast, found?.view, moment);
    if (info?.futureSteps === undefined) return;
    const [mean, low, high] = [forecast?.mean, forecast?.low, forecast?.high].map((all) =>
      formatNumber(all?.[0] ?? NaN, 3)
    );
    byId("answer").textContent = forecast
      ? `${counted(moment + 1, "observation")}. Next: ${mean}, with 80 % probability from ${low} to ${high}`
      : info.trained || forecasts
      ? "Draw the past of a curve: its future follows."
      : "No model is trained yet: press Train.";
    const { name } = info.channels[channel];
    void drawCharts(byId("charts"), forecast ? [forecastChart(found!.view, name, channel, forecast)] : []);
  }

  function show(answer: Look | undefined): void {
    found = answer;
    slider.disabled = !found;
    const last = (found?.view.times.length ?? 1) - 1;
    slider.max = `${last}`;
    moment = Math.min(moment, last);
    showMoment();
    showNext(found?.next ?? {});
  }

  /** Draws the shown moment. */
  function showMoment(): void {
    slider.value = `${moment}`;
    const { channels = [], classes = [] } = info ?? {};
    const view = found?.view;
    const names = { channels: channels.map(({ name }) => name), classes };
    if (view && typeof shown === "string") pad.show(view, moment);
    byId("moment-text").textContent = view ? timeText(view, moment) : "";
    const shares = classes.map((_, i) => view?.probabilities[i][moment] ?? 0);
    const best = shares.indexOf(Math.max(...shares));
    byId("answer").textContent = view
      ? `${classes[best]}: ${formatPercent(shares[best], 0)} after ${counted(moment + 1, "observation")}` +
        (view.label === undefined ? "" : `; it is ${view.label}`)
      : typeof shown === "string"
      ? "No model is trained yet."
      : "Draw a series.";
    byId("classes").innerHTML = classes.map((name, i) => {
      const text = escapeText(name);
      return `<span>${text}</span><progress class="c${i % 8}" value="${
        shares[i]
      }" max="1" aria-label="${text}"></progress>`;
    }).join("");
    if (info?.futureSteps === undefined) {
      void drawCharts(byId("charts"), view ? viewCharts(view, moment, names) : []);
    }
    byId("matrices").innerHTML = view ? matrixPictures(view, moment, scheme()) : "";
  }

  function step(): void {
    if (!isPlaying || !found || isLooking || document.hidden) return;
    if (moment < found.view.times.length - 1) {
      moment++;
      showMoment();
      void askNext().catch(showFault);
    } else if (++waited > rest) {
      waited = 0;
      const names = info?.series ?? [];
      const place = names.findIndex(({ name }) => name === shown);
      const next = typeof shown === "string" ? names[(place + 1) % names.length].name : shown;
      void choose(next, 0).catch(showFault);
    }
  }

  async function choose(wanted: Shown, at = Infinity): Promise<void> {
    [shown, moment] = [wanted, at === Infinity ? 1e6 : at];
    onChange();
    await look();
  }

  slider.addEventListener("input", () => {
    setPlaying(false);
    moment = slider.valueAsNumber;
    showMoment();
    void askNext().catch(showFault);
    onChange();
  });
  play.addEventListener("click", () => {
    setPlaying(!isPlaying);
    if (isPlaying && found && moment === found.view.times.length - 1) moment = 0;
    onChange();
  });
  const timer = setInterval(step, tick);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const recolor = () => {
    showMoment();
    void askNext().catch(showFault);
  };
  dark.addEventListener("change", recolor);

  return {
    ...{ pad, choose, look, show },
    stop() {
      clearInterval(timer);
      dark.removeEventListener("change", recolor);
    },
    get shown() {
      return shown;
    },
    get moment() {
      return moment;
    },
    set moment(at) {
      moment = at;
    },
    get isPlaying() {
      return isPlaying;
    },
    set isPlaying(on) {
      setPlaying(on);
    },
    use(given, wanted = 0) {
      [info, channel] = [given, wanted];
      const { futureSteps, channels } = given;
      const isPlane = channels.length === 2 && futureSteps === undefined;
      const drawn = futureSteps === undefined ? length : pastSteps(futureSteps);
      pad.use({
        ...given,
        length: drawn + (futureSteps ?? 0),
        drawn,
        channel: isPlane ? undefined : channel,
      });
      [shown, moment] = [given.series[0]?.name ?? [], 0];
      show(undefined);
    },
  };
}
