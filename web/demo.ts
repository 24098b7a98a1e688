/// <reference lib="dom" />
/** The demo on the first page of the site: the stage of the playground, with the models that come with it. */
import { startWorker } from "./client.ts";
import { byId, showFault } from "./elements.ts";
import { makeStage } from "./stage.ts";
import { trainedFile } from "./trained.ts";

const content = `
<div class="stage">
  <div>
    <div class="board">
      <canvas id="plane" hidden></canvas>
      <svg id="pad" tabindex="0" role="application" aria-label="Drawing pad" aria-describedby="how" viewBox="0 0 100 100"></svg>
    </div>
    <label class="time"><span>Time <output id="moment-text" for="moment"></output></span>
      <input id="moment" type="range" min="0" max="0" step="1" disabled>
    </label>
  </div>
  <div>
    <div class="choices">
      <label>Model <select id="model">
        <option value="neural-cde">Neural CDE</option>
        <option value="delta-cde">fast weights</option>
        <option value="warp">WARP</option>
      </select></label>
      <button id="play" type="button">Play the series</button>
    </div>
    <p id="answer"></p>
    <div id="classes"></div>
    <p id="how">Which way does the spiral turn? Draw one: the model answers at each observation. The colours are its
      decisions about the next one. By keyboard: arrow keys move the pen, the space bar adds an observation.</p>
    <div id="matrices" class="matrices"></div>
    <div id="fault" role="alert" hidden></div>
  </div>
  <div id="charts"></div>
</div>`;

/** Starts the demo in an element. @returns Ends it. */
export function startDemo(element: HTMLElement): () => void {
  element.innerHTML = content;
  const { call, stop } = startWorker(() => {});
  const stage = makeStage(call);
  const model = byId<HTMLSelectElement>("model");
  const open = async () => {
    stage.use(await call("load", "spirals", { trained: await trainedFile("spirals", model.value) }));
    stage.isPlaying = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    await stage.choose(stage.shown, stage.isPlaying ? 0 : undefined);
  };
  const start = () => void open().catch(showFault);
  model.addEventListener("change", start);
  start();
  return () => {
    stage.stop();
    stop();
  };
}
