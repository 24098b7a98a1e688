/** Web page of a server: its model, and the latest answers. It makes no requests to other hosts. */
import type { SeriesSettings } from "../series/settings.ts";
import type { RunConfig } from "../train/config.ts";
import { escapeHtml } from "../train/chart.ts";
import { columnsOf } from "./openapi.ts";
import type { Service } from "./service.ts";

/** Response with the page. */
export function pageOf(service: Service): Response {
  const nonce = crypto.randomUUID();
  return new Response(render(service, nonce), {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; connect-src 'self'; base-uri 'none'; ` +
        "form-action 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
    },
  });
}

function render(service: Service, nonce: string): string {
  const rows = factsOf(service).map(([name, value]) =>
    `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(service.name)} - Weft</title>
<style nonce="${nonce}">${style}</style>
</head>
<body>
<h1>${escapeHtml(service.name)}</h1>
<table>${rows.join("")}</table>
<h2>Latest answers</h2>
<table id="latest"><tbody><tr><td>None yet.</td></tr></tbody></table>
<p id="state" role="status"></p>
<p><a href="openapi.json">What can be asked</a> · <a href="metrics">metrics</a> · <a href="health">health</a></p>
<script nonce="${nonce}">${script}</script>
</body>
</html>
`;
}

function factsOf({ config, record, model, names }: Service): [name: string, value: string][] {
  const { task = "classify", model: name = "neural-cde" } = config as RunConfig & SeriesSettings;
  const columns = Object.entries(columnsOf(record)).map(([name, kind]) =>
    kind === "number" ? name : `${name} (${kind.join(", ")})`
  );
  const { windows, targets = [], classes } = record;
  const facts: [name: string, value: string][] = [
    ["task", task],
    ["model", name],
    ["columns", [names.series, `${names.time} (${record.time.kind}s)`, ...columns].join(", ")],
    ["classes", classes.join(", ")],
    ["numbers", targets.map(({ name }) => name).join(", ")],
    ["horizon", windows ? `${windows.horizon} steps of ${windows.gap}` : ""],
    ["series while they arrive", model.stream ? "at /stream" : "no: it was not trained online"],
  ];
  return facts.filter(([, value]) => value !== "");
}

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 1rem 0.3rem 0; border-bottom: 1px solid #8884; }
th { font-weight: 600; white-space: nowrap; }
td:last-child { width: 100%; }
meter { width: 8rem; margin-right: 0.5rem; }
svg { width: 12rem; height: 2rem; vertical-align: middle; margin-right: 0.5rem; }
path { fill: none; stroke: currentColor; stroke-width: 2; vector-effect: non-scaling-stroke; }
`;

/** Insert data from series as text only, never as HTML. */
const script = `
const add = (parent, name, text = "") => {
  const own = parent.appendChild(document.createElement(name));
  own.textContent = text;
  return own;
};
const short = (value) => Number(value.toPrecision(4)).toString();
function curve(cell, values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const at = (value, i) => i / Math.max(1, values.length - 1) * 100 + " " + (high > low ? (high - value) / (high - low) * 20 : 10);
  const svg = cell.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
  svg.setAttribute("viewBox", "-1 -1 102 22");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.appendChild(document.createElementNS(svg.namespaceURI, "path")).setAttribute("d", "M" + values.map(at).join(" L"));
}
function show(cell, answer) {
  if (answer.label !== undefined) {
    const meter = add(cell, "meter");
    meter.value = answer.probability;
    add(cell, "span", answer.label + " " + (100 * answer.probability).toFixed(1) + " %");
  } else if (answer.numbers) {
    add(cell, "span", Object.entries(answer.numbers).map(([name, value]) => name + " " + short(value)).join(", "));
  } else {
    for (const [name, { mean }] of Object.entries(answer.channels)) {
      const line = add(cell, "div");
      curve(line, mean);
      add(line, "span", name + ": " + short(mean[0]) + (mean.length > 1 ? " … " + short(mean.at(-1)) : "") + ", up to " +
        answer.times.at(-1));
    }
  }
}
async function poll() {
  const state = document.getElementById("state");
  try {
    const { latest } = await (await fetch("latest")).json();
    state.textContent = "";
    if (latest.length > 0) {
      const body = document.createElement("tbody");
      for (const { at, answer } of latest) {
        const row = add(body, "tr");
        add(row, "td", new Date(at).toLocaleTimeString());
        add(row, "td", answer.series);
        show(add(row, "td"), answer);
      }
      document.querySelector("#latest tbody").replaceWith(body);
    }
  } catch {
    state.textContent = "The server does not answer.";
  }
  setTimeout(poll, 2000);
}
poll();
`;
