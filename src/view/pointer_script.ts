/**
 * Script of the page of runs: shows the values of the curves under the pointer, and draws a part of the epochs that is marked with the
 * pointer. A double click draws all. The server draws the charts, whose axes have their scales as attributes.
 */
export const pointerScript = `
const readout = document.body.appendChild(document.createElement("div"));
readout.id = "readout";
readout.hidden = true;
let pressed;
/** Values of an axis, and whether it is logarithmic or of percentages. */
function scaleOf(text) {
  const [start, end, low, high, ...kinds] = text.split(" ");
  const isLog = kinds.includes("log");
  const [from, to] = [low, high].map((value) => isLog ? Math.log10(value) : Number(value));
  return (place) => {
    const value = from + (place - start) / (end - start) * (to - from);
    return isLog ? 10 ** value : value;
  };
}
/** The chart under the pointer with its scales and the place of the pointer in its drawing. */
function chartAt(event) {
  const chart = event.target.closest?.("svg.chart");
  const axes = chart?.querySelector("g[data-x]");
  if (!axes) return undefined;
  const { left, width } = chart.getBoundingClientRect();
  const place = (event.clientX - left) / width * chart.viewBox.baseVal.width;
  return { chart, place, x: scaleOf(axes.dataset.x), y: scaleOf(axes.dataset.y), isPercent: / %/.test(axes.dataset.y) };
}
function read(event) {
  const hit = chartAt(event);
  const lines = hit ? [...hit.chart.querySelectorAll("g[data-name]")] : [];
  readout.hidden = lines.length === 0;
  if (readout.hidden) return;
  const { place, x, y, isPercent } = hit;
  const rows = lines.map((line) => {
    const points = line.querySelector("path").getAttribute("d").slice(1).split("L").map((pair) => pair.split(",").map(Number));
    const nearest = points.reduce((best, point) => Math.abs(point[0] - place) < Math.abs(best[0] - place) ? point : best);
    const value = y(nearest[1]);
    const text = isPercent ? (100 * value).toFixed(1) + " %" : Number(value.toPrecision(3));
    return line.dataset.name + ", epoch " + Math.round(x(nearest[0])) + ": " + text;
  });
  readout.replaceChildren(...rows.map((text) => Object.assign(document.createElement("div"), { textContent: text })));
  readout.style.left = Math.max(0, Math.min(event.clientX + 16, innerWidth - readout.offsetWidth - 8)) + "px";
  readout.style.top = Math.max(0, Math.min(event.clientY + 16, innerHeight - readout.offsetHeight - 8)) + "px";
}
function draw(epochs) {
  const next = new URL(location);
  for (const name of ["from", "to"]) {
    if (epochs) next.searchParams.set(name, epochs[name]);
    else next.searchParams.delete(name);
  }
  if (next.href !== location.href) location = next;
}
addEventListener("pointermove", read);
addEventListener("pointerdown", (event) => {
  read(event);
  pressed = chartAt(event);
});
addEventListener("pointerup", (event) => {
  const released = chartAt(event);
  if (pressed && released && Math.abs(released.place - pressed.place) > 10) {
    const [from, to] = [pressed, released].map(({ x, place }) => Math.round(x(place))).sort((a, b) => a - b);
    draw({ from, to });
  }
  pressed = undefined;
});
addEventListener("dblclick", (event) => {
  if (chartAt(event)) draw(undefined);
});
`;
