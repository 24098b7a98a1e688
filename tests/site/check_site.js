/**
 * Opens the pages of the documentation site in Debian's Chromium, on a phone and on a wide screen, in light and in dark colours. A
 * page fails with a message in the console, a request to another host, horizontal scrolling, or a serious violation that axe
 * finds. Also checks the links, and the size of the first page.
 *
 * Arguments: the folder of the site, and optionally a folder for screenshots.
 */
import axe from "axe-core";
import { mkdirSync, readdirSync } from "node:fs";
import puppeteer from "puppeteer-core";
import { deadLinks } from "./check_links.js";
import { serve } from "./serve.js";

const [root, screenshots] = process.argv.slice(2);

/** Bytes of the first page with its scripts and styles, compressed. */
const firstPageLimit = 200 * 1024;

/** Browsers that open pages at the same time. The tabs of one browser wait for each other. */
const browsers = 2;

/** Widths in pixels and colours. axe, whose findings depend on either alone, checks the states with `axe`. */
const states = [
  { width: 1280, colours: "light", axe: true },
  { width: 1280, colours: "dark" },
  { width: 390, colours: "light" },
  { width: 390, colours: "dark", axe: true },
];

const pages = readdirSync(root, { recursive: true }).filter((file) => file.endsWith(".html")).sort();
const faults = deadLinks(root, pages);

const server = await serve(root);
const address = `http://127.0.0.1:${server.address().port}`;
const launch = () => puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
if (screenshots) mkdirSync(screenshots, { recursive: true });

/** Opens a page, and records its faults. */
async function check(browser, path) {
  const fault = (text) => faults.push(`${path}: ${text}`);
  const page = await browser.newPage();
  page.on("console", (message) => {
    if (["error", "warn"].includes(message.type())) fault(`console: ${message.text()}`);
  });
  page.on("pageerror", ({ message }) => fault(`error: ${message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !/^(data|blob):/.test(url)) fault(`request to ${url}`);
  });
  await show(page, states[0]);
  await page.goto(`${address}/${path}`, { waitUntil: "load" });
  await page.evaluate(axe.source);
  for (const state of states) await checkState(page, state, path, fault);
  await page.close();
}

/** Sets the width of a page and its colours. */
async function show(page, { width, colours }) {
  await page.setViewport({ width, height: 844 });
  // A colour in transition could have too little contrast.
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: colours },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
}

async function checkState(page, state, path, fault) {
  const { width, colours } = state;
  await show(page, state);
  const place = `at ${width} pixels, ${colours}`;
  const overflow = await page.evaluate(() =>
    document.documentElement.scrollWidth - document.documentElement.clientWidth
  );
  if (overflow > 0) fault(`${place}: scrolls horizontally by ${overflow} pixels`);
  const violations = state.axe
    ? await page.evaluate(async () => (await globalThis.axe.run({ resultTypes: ["violations"] })).violations)
    : [];
  for (const { id, impact, nodes } of violations) {
    if (!["serious", "critical"].includes(impact)) continue;
    fault(`${place}: axe ${id} (${nodes.length}): ${nodes[0].target} ${nodes[0].html.slice(0, 120)}`);
  }
  if (!screenshots) return;
  const name = path.replaceAll(/[/~]/g, "_").replace(".html", "");
  await page.screenshot({ path: `${screenshots}/${name}-${width}-${colours}.png` });
}

const start = performance.now();
const waiting = [...pages];
await Promise.all(Array.from({ length: browsers }, async () => {
  const browser = await launch();
  while (waiting.length > 0) {
    const path = waiting.shift();
    await check(browser, path).catch(({ message }) => faults.push(`${path}: ${message}`));
  }
  await browser.close();
}));

const browser = await launch();
server.transferred = 0;
const page = await browser.newPage();
await page.setCacheEnabled(false);
await page.goto(`${address}/index.html`, { waitUntil: "networkidle0" });
console.log(`first page: ${(server.transferred / 1024).toFixed(0)} KB compressed`);
if (server.transferred > firstPageLimit) faults.push(`index.html: more than ${firstPageLimit / 1024} KB`);

await browser.close();
server.close();
console.log(faults.join("\n"));
console.log(`${pages.length} pages: ${faults.length} faults, ${((performance.now() - start) / 1000).toFixed(0)} s`);
process.exit(faults.length > 0 ? 1 : 0);
