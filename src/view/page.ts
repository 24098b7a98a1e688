/** Pages of the view. A script replaces the parts that change, once per second. */
import { escapeText } from "../charts/format.ts";
import { renderPage } from "../charts/page.ts";
import { scales, seedChoices, type Selection } from "./compare_part.ts";
import { pointerScript } from "./pointer_script.ts";
import { runStates } from "./runs.ts";

/** A page with a part that the script updates. */
interface LivePage {
  readonly title: string;
  /** Content above the part. */
  readonly above?: string;
  /** The part, as the same address with the parameter `part` returns it. */
  readonly part: string;
}

/** Response with a page that updates itself. */
export function livePage({ title, above = "", part }: LivePage): Response {
  const nonce = crypto.randomUUID();
  const html = renderPage({
    title,
    nonce,
    style,
    body: `${above}
<p id="connection" role="status"></p>
<div id="part">
${part}
</div>
<script nonce="${nonce}">${script}${pointerScript}</script>`,
  });
  return htmlResponse(
    html,
    `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; connect-src 'self'; form-action 'self'; ` +
      "base-uri 'none'; frame-ancestors 'none'",
  );
}

/** Response with a report of a run. Its folder may come from another person, so that no script may run. */
export function reportResponse(html: string): Response {
  return htmlResponse(
    html,
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox",
  );
}

/** Response with a part of a page. */
export function partResponse(html: string): Response {
  return htmlResponse(html, "default-src 'none'");
}

/** The script loads the page again, which is a report now. */
export function reloadResponse(): Response {
  return new Response(null, { status: 204, headers: { "cache-control": "no-store" } });
}

function htmlResponse(html: string, policy: string): Response {
  return new Response(html, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy,
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    },
  });
}

/** A form that selects runs. */
export function selectionForm(selection: Selection, experiments: readonly string[]): string {
  const options = (chosen: string, names: readonly string[], all?: string) =>
    [...all === undefined ? [] : [["", all]], ...names.map((name) => [name, name])].map(([value, text]) =>
      `<option value="${escapeText(value)}"${value === chosen ? " selected" : ""}>${
        escapeText(text)
      }</option>`
    ).join("");
  return `<form method="get">
<label>Name or setting <input name="words" value="${
    escapeText(selection.words)
  }" placeholder="learning-rate=0.01"></label>
<label>Experiment <select name="experiment">${
    options(selection.experiment, experiments, "all")
  }</select></label>
<label>State <select name="state">${options(selection.state, runStates, "all")}</select></label>
<label>Smoothing <input type="range" name="smoothing" min="0" max="0.98" step="0.02" value="${selection.smoothing}"></label>
<label>Scale <select name="scale">${options(selection.scale, scales)}</select></label>
<label>Seeds <select name="seeds">${options(selection.seeds, seedChoices)}</select></label>
<input type="hidden" name="sort" value="${escapeText(selection.sort)}">
<input type="hidden" name="order" value="${selection.order}">
<button>Show</button>
</form>`;
}

const style = `
form { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin: 16px 0; }
label { display: flex; flex-wrap: wrap; gap: 2px 8px; align-items: center; color: var(--soft); max-width: 100%; }
input, select, button { font: inherit; max-width: 100%; min-width: 0; }
button { padding: 2px 16px; }
progress { width: 100%; height: 10px; accent-color: var(--c0); }
#readout { position: fixed; z-index: 1; pointer-events: none; padding: 4px 8px; font-size: .85em; border: 1px solid var(--rule);
  border-radius: 4px; background: var(--card); color: var(--ink); max-width: 90vw; }
svg.chart { touch-action: pan-y; user-select: none; }
#connection:empty { display: none; }
#connection { color: var(--bad); }
th a { color: inherit; }
main { max-width: 1500px; }
thead th { vertical-align: bottom; }
thead th.number { min-width: 6em; }
@media (min-width: 600px) { tbody th { white-space: nowrap; } }
`;

/**
 * Replaces only the sections that differ, and keeps open details, the focus and the scroll position of tables.
 * The server escapes every text of the runs.
 */
const script = `
const part = document.getElementById("part");
const connection = document.getElementById("connection");
const address = new URL(location);
address.searchParams.set("part", "");
const texts = [...part.children].map((element) => element.outerHTML);
function replace(before, element) {
  if (before.open) element.open = true;
  const focus = part.contains(document.activeElement) && before.contains(document.activeElement) &&
    document.activeElement.textContent;
  const places = [...before.querySelectorAll(".table")].map((table) => table.scrollLeft);
  before.replaceWith(element);
  element.querySelectorAll(".table").forEach((table, i) => table.scrollLeft = places[i] ?? 0);
  if (focus) [...element.querySelectorAll("a, summary")].find((one) => one.textContent === focus)?.focus();
}
function update(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const elements = [...template.content.children];
  const old = [...part.children];
  elements.forEach((element, i) => {
    const text = element.outerHTML;
    if (!old[i]) part.append(element);
    else if (texts[i] !== text) replace(old[i], element);
    texts[i] = text;
  });
  old.slice(elements.length).forEach((element) => element.remove());
}
async function poll() {
  try {
    const response = await fetch(address);
    if (response.status === 204) return location.reload();
    if (!response.ok) throw new Error(response.statusText);
    update(await response.text());
    connection.textContent = "";
  } catch {
    connection.textContent = "The process does not answer. If it has ended, report.html in the folder of the run has the result.";
  }
  setTimeout(poll, 1000);
}
setTimeout(poll, 1000);
`;
