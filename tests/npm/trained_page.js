/** Checks the models of the folder `trained` in a page, and trains and opens another model there. */
import { classify, openTrained } from "@weft/weft/series";
import { checkTrained } from "./trained.js";

const read = async (name) => new Uint8Array(await (await fetch(`/trained/${name}`)).arrayBuffer());
const checked = await checkTrained(openTrained, read);

// Trains in the page, and opens the files of the run.
const rows = Array.from({ length: 240 }, (_, i) => {
  const [series, time] = [Math.floor(i / 12), i % 12];
  return { series: `s${series}`, time, x: Math.sin(time * (series % 2 ? 1.6 : 0.8)), label: "ab"[series % 2] };
});
const { files } = await classify({ name: "waves", rows }, { model: "random-convolutions", device: "cpu" });
const model = await openTrained(files, { task: "classify" });
const [{ label }] = await model.predict({ name: "new", rows: rows.slice(12, 24) });
console.log(`${checked}; a model of the page predicts ${label}`);
