/// <reference lib="dom" />
import { renderChart } from "../src/charts/render.ts";

const x = document.querySelector<HTMLInputElement>("#a")!;
x.innerHTML = renderChart({ title: "a", panels: [] });
x.addEventListener("pointermove", ({ clientX }) => console.log(clientX));
const w = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
w.onmessage = ({ data }) => console.log(data);
