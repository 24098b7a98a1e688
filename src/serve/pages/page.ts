/** Web page of a server: its model, a form that predicts a table, and the latest answers. */
import { escapeText } from "../../charts/format.ts";
import { renderPage } from "../../charts/page.ts";
import { renderTable } from "../../charts/render.ts";
import { withChosen } from "../../series/choose/auto.ts";
import { windowsInWords } from "../../series/record/data_record.ts";
import type { SeriesSettings } from "../../series/record/settings.ts";
import type { RunConfig } from "../../train/run/config.ts";
import { runTitle } from "../../train/report/report.ts";
import { columnsOf } from "./openapi.ts";
import type { Service } from "../service.ts";

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
  return renderPage({
    title: runTitle({ ...service.config, model: settingsOf(service).model }),
    nonce,
    style,
    body: `${renderTable({ head: [], rows: factsOf(service), texts: [1] })}
<h2>Try a table</h2>
<p>Choose a CSV file with the columns ${
      escapeText(columnNames(service).join(", "))
    }. The file goes to this server only.</p>
<form id="try">
<label for="file">Table</label> <input type="file" id="file" required>
<button>Predict</button>
</form>
<p id="state" role="status"></p>
<div id="answers"></div>
<h2>Latest answers</h2>
<div id="latest"><p>No answers yet.</p></div>
<p><a href="openapi.json">Description of the API</a> · <a href="metrics">metrics</a> · <a href="health">health</a></p>
<script nonce="${nonce}">${script}</script>`,
  });
}

function columnNames({ record, names }: Service): string[] {
  return [names.series, names.time, ...Object.keys(columnsOf(record))];
}

/** Settings of the run, with the model that a comparison chose. */
function settingsOf({ config, record }: Service): RunConfig & SeriesSettings {
  return withChosen(config as RunConfig & SeriesSettings, record.training);
}

function factsOf(service: Service): [name: string, value: string][] {
  const { record, model, names, name } = service;
  const { task = "classify", model: modelName = "neural-cde" } = settingsOf(service);
  const columns = Object.entries(columnsOf(record)).map(([name, kind]) =>
    kind === "number" ? name : `${name} (${kind.join(", ")})`
  );
  const { windows, targets = [], classes } = record;
  const { horizon, context } = windows ? windowsInWords(record) : { horizon: "", context: "" };
  const facts: [name: string, value: string][] = [
    ["run", name],
    ["task", task],
    ["model", modelName],
    ["columns", [names.series, `${names.time} (${record.time.kind}s)`, ...columns].join(", ")],
    ["classes", classes.join(", ")],
    ["predicted numbers", targets.map(({ name }) => name).join(", ")],
    ["forecast", windows ? `${horizon} from the ${context} before` : ""],
    ["streams", model.stream ? "at /stream" : "none: the model was not trained online"],
  ];
  return facts.filter(([, value]) => value !== "");
}

const style = `
form { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; }
input { font: inherit; max-width: 100%; }
button { font: inherit; padding: 4px 16px; }
#state:empty { display: none; }
#state.error { color: var(--bad); }
tbody th { white-space: nowrap; }
`;

/** Inserts HTML from the server only. The server escapes every text of a client. */
const script = `
const element = (id) => document.getElementById(id);
const types = { tsv: "text/tab-separated-values", json: "application/json", jsonl: "application/jsonl", ndjson: "application/x-ndjson" };
const state = (text, isError = false) => {
  element("state").textContent = text;
  element("state").className = isError ? "error" : "";
};
async function predict(file) {
  state("The model reads " + file.name + ".");
  element("answers").replaceChildren();
  const type = types[file.name.replace(/\\.gz$/, "").split(".").pop().toLowerCase()] ?? "text/csv";
  const response = await fetch("predict", { method: "POST", headers: { accept: "text/html", "content-type": type }, body: file });
  if (response.ok) {
    element("answers").innerHTML = await response.text();
    state("");
  } else {
    const { detail } = await response.json();
    state(detail.replace(/^the body(?=[ :,])/, file.name), true);
  }
}
element("try").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  try {
    await predict(element("file").files[0]);
  } catch {
    state("The server does not answer.", true);
  }
  button.disabled = false;
  await showLatest();
});
let shown;
async function showLatest() {
  try {
    const response = await fetch("latest", { headers: { accept: "text/html" } });
    if (!response.ok) throw new Error(response.statusText);
    const html = await response.text();
    // Keep unchanged content: replacing it would lose the scroll position and selected text.
    if (html !== shown) element("latest").innerHTML = shown = html;
  } catch {
    element("latest").textContent = shown = "The server does not answer.";
  }
}
async function poll() {
  await showLatest();
  setTimeout(poll, 2000);
}
poll();
`;
