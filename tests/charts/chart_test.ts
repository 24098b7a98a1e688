import assert from "node:assert/strict";
import { type Chart, coloursOf, legendOf, type Mark } from "../../src/charts/chart.ts";
import { drawPanels } from "../../src/charts/draw.ts";
import { chartFile } from "../../src/charts/file.ts";
import { forecastPanel } from "../../src/charts/forecast.ts";
import { renderChart, renderSection } from "../../src/charts/render.ts";

const [x, y] = [{ title: "epoch", unit: "count" }, { title: "loss" }];

function chartOf(...marks: Mark[]): Chart {
  return { title: "t", panels: [{ x, y, marks }] };
}

function line(xs: ArrayLike<number>, ys: ArrayLike<number>, name = "a"): Mark {
  return { kind: "line", name, x: xs, y: ys };
}

const circles = (svg: string) =>
  [...svg.matchAll(/<circle[^>]* cx="([\d.-]+)" cy="([\d.-]+)"/g)].map((m) => m.slice(1).map(Number));

/** A chart with every kind of mark. */
const every: Chart = {
  title: "every <mark>",
  panels: [
    { x, y, marks: [{ kind: "points", name: "points", x: [1, 2], y: [3, 4] }] },
    { x: { title: "plane x" }, y: { title: "plane y" }, marks: [line([0, 1], [0, 2])], isPlane: true },
    forecastPanel({ title: "time", scale: "date" }, {
      name: "load",
      observed: { x: [0, 3600, 7200], y: [1, 2, 3] },
      predicted: { x: [3600, 7200], y: [2, 2] },
      interval: { name: "80 % interval", low: [1, 1], high: [3, 300] },
    }, [0, 3600]),
    {
      x,
      y: { title: "channel", categories: ["u", "v"] },
      marks: [{ kind: "bars", name: "b", values: [1, -2] }],
    },
  ],
};

Deno.test("every panel of a chart has both axes with titles, units and at least two ticks", () => {
  for (const [i, panel] of drawPanels(every).entries()) {
    const titles = [...panel.matchAll(/<text class="title"[^>]*>([^<]*)</g)].map(([, text]) => text);
    const { x, y } = every.panels[i];
    assert.ok(titles.some((title) => title.startsWith(x.title)), `${titles}`);
    assert.ok(titles.includes(y.title), `${titles}`);
    assert.ok([...panel.matchAll(/class="tick"/g)].length >= 4, panel);
  }
  assert.match(drawPanels(every)[0], />epoch \(count\)</);
  assert.match(drawPanels(every)[2], />time \(from 1970-01-01\)</);
});

Deno.test("a forecast, its interval and its baseline begin at the last known observation before them", () => {
  const { marks } = forecastPanel({ title: "time" }, {
    name: "load",
    observed: { x: [0, 1, 2, 3, 4], y: [1, 2, NaN, 4, 5] },
    predicted: { x: [3, 4], y: [6, 7] },
    interval: { name: "80 % interval", low: [5, 6], high: [7, 8] },
    baseline: { name: "last value", x: [3, 4], y: [2, 2] },
  });
  const [observed, predicted, interval, baseline] = marks.map((mark) => ({ ...mark }));
  assert.deepEqual(observed, line([0, 1, 2, 3, 4], [1, 2, NaN, 4, 5], "observed"));
  assert.deepEqual(predicted, { ...line([1, 3, 4], [2, 6, 7], "predicted"), style: "dashed" });
  const band = { kind: "band", of: "predicted", name: "80 % interval" };
  assert.deepEqual(interval, { ...band, x: [1, 3, 4], low: [2, 5, 6], high: [2, 7, 8] });
  assert.deepEqual(baseline, { ...line([1, 3, 4], [2, 2, 2], "last value"), style: "reference" });
});

Deno.test("a small panel of some hours shows its date in full, and two times", () => {
  const start = Date.UTC(2024, 4, 1, 8, 5) / 1000;
  for (const [seconds, last] of [[8000, "10:00"], [11_400, "11:00"]] as const) {
    const panel = {
      x: { title: "time", unit: "UTC", scale: "date" },
      y: { title: "scaled value" },
      marks: [line([start, start + seconds], [-2, 2])],
    } as const;
    const [svg] = drawPanels({ title: "t", panels: [panel], size: "small" });
    const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
    assert.ok(texts.includes("UTC, from 2024-05-01"), `${texts}`);
    assert.deepEqual(texts.filter((text) => text.includes(":")), ["09:00", last]);
  }
});

Deno.test("a chart places values in order, larger ones higher", () => {
  const [[x1, y1], [x2, y2], [x3, y3]] = circles(renderChart(chartOf(line([1, 2, 3], [1, 3, 2]))));
  assert(x1 < x2 && x2 < x3);
  assert(y2 < y3 && y3 < y1);
});

Deno.test("a chart of one point, of equal values or without values contains finite numbers only", () => {
  for (const [xs, ys] of [[[1], [0.5]], [[1, 2], [0, 0]], [[1, 2], [NaN, 1]], [[], []], [[1], [Infinity]]]) {
    for (const scale of ["linear", "auto", "log"] as const) {
      const panel = { x: { ...x, scale }, y: { ...y, scale }, marks: [line(xs, ys)] };
      assert.doesNotMatch(renderChart({ title: "t", panels: [panel] }), /NaN|Infinity|undefined/);
    }
  }
  assert.doesNotMatch(renderChart(every) + chartFile([every]), /NaN|Infinity|undefined/);
});

Deno.test("everything is drawn inside the view box", () => {
  const values = [-1e6, 3, 2e7].map((value) => value / 7);
  for (const svg of drawPanels(chartOf(line([1, 5, 9], values))).concat(drawPanels(every))) {
    for (const [, px, py] of svg.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)) {
      assert.ok(Number(px) >= 0 && Number(px) <= 400 && Number(py) >= 0 && Number(py) <= 250, `${px}, ${py}`);
    }
  }
});

Deno.test("bars are as high as the names of their categories", () => {
  const svg = drawPanels(every)[3];
  const names = [...svg.matchAll(/<text class="tick"[^>]* y="([\d.]+)"[^>]*>[uv]</g)].map(([, y]) =>
    Number(y)
  );
  const bars = [...svg.matchAll(/<rect class="bar"[^>]* y="([\d.]+)"[^>]* height="([\d.]+)"/g)];
  const middles = bars.map(([, y, height]) => Number(y) + Number(height) / 2);
  // The baseline of a text is 4 pixels below its middle.
  middles.forEach((middle, i) => assert.ok(Math.abs(middle - names[i] + 4) < 1, `${middles}, ${names}`));
  assert.equal(middles.length, 2);
});

Deno.test("a plane has units of the same length on both axes", () => {
  const square = line([0, 1, 1], [0, 0, 1]);
  const [[x1, y1], [x2], [, y3]] = circles(
    drawPanels({ title: "t", panels: [{ x, y, marks: [square], isPlane: true }] })[0],
  );
  assert.ok(Math.abs((x2 - x1) - (y1 - y3)) < 0.3, `${x2 - x1}, ${y1 - y3}`);
});

Deno.test("a line of 140,000 points keeps its ends and its extremes, and is small", () => {
  const points = Float64Array.from({ length: 140_000 }, (_, i) => i);
  const values = points.map((i) => i === 70_001 ? 9 : Math.sin(i));
  const svg = renderChart(chartOf(line(points, values)));
  assert.ok(svg.length < 30_000, `${svg.length} characters`);
  const places = [...svg.matchAll(/[ML](-?[\d.]+),(-?[\d.]+)/g)].map((m) => m.slice(1).map(Number));
  const heights = places.slice(-1500).map(([, height]) => height);
  const [top] = heights.toSorted((a, b) => a - b);
  assert.equal(top, Math.min(...places.map(([, height]) => height)));
  assert.ok(heights.filter((height) => height === top).length <= 2, "one point has the extreme");
});

Deno.test("a band has the colour of its line, and marks of one name have one colour", () => {
  const panel = every.panels[2];
  const colours = coloursOf({ panels: [panel, panel] });
  assert.equal(colours.get("80 % interval"), colours.get("predicted"));
  assert.notEqual(colours.get("observed"), colours.get("predicted"));
  assert.deepEqual(legendOf({ panels: [panel, panel] }).map(({ name }) => name), [
    ...["observed", "predicted", "80 % interval", "read by the model"],
  ]);
});

Deno.test("a chart with one name needs no legend", () => {
  assert.doesNotMatch(renderChart(chartOf(line([1], [1]))), /legend/);
  assert.match(renderChart(chartOf(line([1], [1]), line([1], [2], "b"))), /class="legend"/);
});

Deno.test("a caption does not separate a number from its percent sign", () => {
  assert.match(renderChart({ ...every, title: "80 % of 50 %" }), />80&nbsp;% of 50&nbsp;%</);
});

Deno.test("texts of the data are escaped in figures and in files", () => {
  for (const text of [renderChart(every), chartFile([every, every])]) {
    assert.match(text, /every &#60;mark&#62;/);
    assert.doesNotMatch(text, /<mark>/);
  }
});

Deno.test("small charts share one legend, and every mark has the colour of the legend", () => {
  const small = (...marks: Mark[]): Chart => ({ ...chartOf(...marks), size: "small" });
  const html = renderSection({
    ...{ kind: "charts", title: "samples" },
    charts: [small(line([0, 1], [0, 1]), line([0, 1], [1, 2], "b")), small(line([0, 1], [1, 2], "b"))],
  });
  assert.equal(html.match(/class="legend"/g)?.length, 1);
  assert.equal(html.match(/<g class="c1 solid"/g)?.length, 2);
});

Deno.test("an image is drawn with a rectangle for each run of equal pixels", () => {
  const html = renderSection({
    ...{ kind: "images", title: "digits" },
    groups: [{ title: "digit", images: [{ name: "given", width: 3, pixels: [0, 0, 1, 1, 1, 1] }] }],
  });
  assert.deepEqual(
    [...html.matchAll(/fill="(#\w+)" d="(M[^v]*)/g)].map(([, fill, path]) => `${fill} ${path}`),
    ["#000000 M0,0h2", "#ffffff M2,0h1", "#ffffff M0,1h3"],
  );
});

Deno.test("a chart as a file has colours for light and dark screens and loads nothing", () => {
  const svg = chartFile([every]);
  assert.match(svg, /prefers-color-scheme: dark/);
  assert.doesNotMatch(
    svg.replace('xmlns="http://www.w3.org/2000/svg"', ""),
    /https?:|href=|@import|url\(|<script/,
  );
});

Deno.test("the style of a chart in a notebook applies only to the chart", () => {
  const [, style] = /<style>(.*?)<\/style>/s.exec(chartFile([every]))!;
  const selectors = [...style.matchAll(/([^{}]+)\{[^{}]*\}/g)].map(([, selector]) => selector.trim());
  assert.ok(selectors.length > 20);
  for (const selector of selectors) assert.match(selector, /^\.weft-chart(?=$| )/);
});

Deno.test("charts use nothing that a browser lacks", async () => {
  for await (const { name } of Deno.readDir("src/charts")) {
    const source = await Deno.readTextFile(`src/charts/${name}`);
    // The name of a symbol is not a use of Deno.
    assert.doesNotMatch(source, /(?<!\.for\(")\bDeno\.|"node:/, name);
  }
});
