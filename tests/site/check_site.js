/**
 * Opens the pages of the documentation site in Debian's Chromium, on a phone and on a wide screen, in light and in dark colours. A
 * page fails with a message in the console, a request to another host, horizontal scrolling, or a serious violation that axe
 * finds. Also checks the links, and the size of the first page.
 *
 * Arguments: the folder of the site, and optionally a folder for screenshots.
 */
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { deadLinks } from "./check_links.js";
import { checkStates, launch, openPage, states } from "./pages.js";
import { serve } from "./serve.js";

const [root, screenshots] = process.argv.slice(2);

/** Most bytes of the first page with its scripts and styles, compressed, and of its demo, which is loaded after the page. */
const [firstPageLimit, demoLimit] = [200 * 1024, 420 * 1024];

/** Browsers that open pages at the same time. The tabs of one browser wait for each other. */
const browsers = 2;

const pages = readdirSync(root, { recursive: true }).filter((file) => file.endsWith(".html")).sort();
const faults = deadLinks(root, pages);

/** Pages of source files of each kind that the check opens, if it takes no pictures. Pages of a kind have one template. */
const sourcePages = 4;

/** The pages to open, the largest first, because they take long. */
function pagesToOpen() {
  const sizeOf = (path) => statSync(join(root, path)).size;
  const sorted = [...pages].sort((a, b) => sizeOf(b) - sizeOf(a));
  if (screenshots) return sorted;
  const counts = {};
  return sorted.filter((path) => {
    if (!path.startsWith("source/")) return true;
    const kind = extname(path.slice(0, -".html".length));
    counts[kind] = (counts[kind] ?? 0) + 1;
    return counts[kind] <= sourcePages;
  });
}

const server = await serve(root);
const address = `http://127.0.0.1:${server.address().port}`;
if (screenshots) mkdirSync(screenshots, { recursive: true });

let generatedPages = 0;

/** The states in which axe checks a page. The pages of source files and of the reference have one template each. */
function checkedStates(path) {
  return /^(source|reference)\//.test(path) ? [states[generatedPages++ % states.length]] : states;
}

/** Opens a page, and records its faults. */
async function check(browser, path) {
  const fault = (text) => faults.push(`${path}: ${text}`);
  const page = await openPage(browser, address, fault);
  await page.goto(`${address}/${path}`, { waitUntil: "load" });
  const name = path.replaceAll(/[/~]/g, "_").replace(".html", "");
  const picture = (state) => screenshots && { path: `${screenshots}/${name}-${state}.png` };
  await checkStates(page, fault, picture, checkedStates(path));
  await page.close();
}

const start = performance.now();
const waiting = pagesToOpen();
const count = waiting.length;
await Promise.all(Array.from({ length: browsers }, async () => {
  const browser = await launch();
  while (waiting.length > 0) {
    const path = waiting.shift();
    await check(browser, path).catch(({ message }) => faults.push(`${path}: ${message}`));
  }
  await browser.close();
}));

const browser = await launch();
server.transferred.clear();
const page = await browser.newPage();
await page.setCacheEnabled(false);
await page.goto(`${address}/index.html`, { waitUntil: "networkidle0" });
const bytesOf = (isDemo) =>
  [...server.transferred].reduce((sum, [url, bytes]) => sum + (url.startsWith("/playground/") === isDemo ? bytes : 0), 0);
for (const [name, bytes, limit] of [["first page", bytesOf(false), firstPageLimit], ["demo", bytesOf(true), demoLimit]]) {
  console.log(`${name}: ${(bytes / 1024).toFixed(0)} KB compressed`);
  if (bytes > limit) faults.push(`index.html: ${name}: more than ${limit / 1024} KB`);
}

// The search finds the guide first.
for (const [words, target] of [
  ["GPU", "/guides/devices.html"],
  ["odeint", "/reference/solvers.html#odeint"],
  ["missing values", "/start/own_data.html#missing-values"],
  ["train in browser", "/playground/"],
]) {
  await page.goto(`${address}/index.html`, { waitUntil: "networkidle0" });
  await page.click(".DocSearch-Button");
  await page.waitForSelector("#localsearch-input");
  await page.type("#localsearch-input", words);
  const first = await page.waitForSelector(".VPLocalSearchBox .results a", { timeout: 20_000 });
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const found = await page.$$eval(".VPLocalSearchBox .results a", (links) => links.map((link) => link.getAttribute("href")));
  console.log(`search "${words}": ${found.slice(0, 3).join(" ")}`);
  if (!first || !found[0].includes(target)) faults.push(`search: "${words}" finds ${found[0]} first, expected ${target}`);
}

await browser.close();
server.close();
console.log(faults.join("\n"));
console.log(`${pages.length} pages, ${count} opened: ${faults.length} faults, ${((performance.now() - start) / 1000).toFixed(0)} s`);
process.exit(faults.length > 0 ? 1 : 0);
