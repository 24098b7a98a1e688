/**
 * Opens live views in Debian's Chromium: of a run while it trains, and of a folder of runs. Curves must grow, and a run that
 * is stopped must become a report. Filters, sorting and the table of settings are used by the keyboard alone.
 *
 * Arguments: the repository, a folder with three complete runs of different learning rates, and the command of Deno. The
 * variable SCREENSHOTS is a folder for screenshots.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { checkStates, launch, openPage } from "./pages.js";

const [repository, runs, ...deno] = process.argv.slice(2);
const screenshots = process.env.SCREENSHOTS;
if (screenshots) mkdirSync(screenshots, { recursive: true });

const faults = [];
const faultsOf = (name) => (text) => faults.push(`${name}: ${text}`);
const check = (page, name) =>
  checkStates(
    page,
    faultsOf(name),
    (state) => screenshots && { path: `${screenshots}/${name}-${state}.png`, fullPage: true },
  );

/** Starts a task of Deno in a process group. Returns the process, and the address that the task prints. */
async function start(...words) {
  const [command, ...args] = [...deno, "task", ...words];
  const child = spawn(command, args, { cwd: repository, detached: true });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => printed += bytes);
  while (true) {
    const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(printed)?.[0];
    if (url) return { child, url };
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`deno task ${words.join(" ")} ended: ${printed}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Interrupts a task, as Ctrl-C does. */
function interrupt({ child }) {
  if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, "SIGINT");
}

const wait = { timeout: 60_000 };

/** Texts of the elements of a selector. */
const texts = (page, selector) =>
  page.$$eval(selector, (found) => found.map(({ textContent }) => textContent));

/** The number of points of the longest curve. */
const curveLength = () =>
  Math.max(...Array.from(document.querySelectorAll("path.line"), (path) => path.getAttribute("d").length));

/** Waits until the curves of a page have become longer. */
async function waitForGrowth(page) {
  await page.waitForFunction(() => document.querySelector("path.line"), wait);
  const before = await page.evaluate(curveLength);
  await page.waitForFunction(`(${curveLength})() > ${before}`, wait);
}

/** Presses Tab until an element has the focus. */
async function tabTo(page, selector, text = "") {
  for (let i = 0; i < 100; i++) {
    await page.keyboard.press("Tab");
    const isThere = await page.evaluate(
      (selector, text) =>
        document.activeElement.matches(selector) && document.activeElement.textContent.startsWith(text),
      selector,
      text,
    );
    if (isThere) return;
  }
  throw new Error(`Tab does not reach ${selector} ${text}`);
}

/** Presses Enter, and waits for the next page. */
const enter = (page) => Promise.all([page.waitForNavigation(wait), page.keyboard.press("Enter")]);

/** The cells of a column of the table of runs. */
async function column(page, title) {
  const titles = await texts(page, "thead th a");
  const rows = await page.$$eval("#part > section:first-of-type tbody tr", (rows) =>
    rows.map((row) => Array.from(row.children, ({ textContent }) => textContent)));
  return rows.map((row) => row[titles.indexOf(title)]);
}

/** The view of a run in training. */
async function checkRun(browser, { url }) {
  const page = await openPage(browser, url, faultsOf("run"));
  await page.goto(url);
  await waitForGrowth(page);
  const body = await page.$eval("main", ({ innerText }) => innerText);
  for (const part of [/in training on /, /time left/, /peak memory/, /samples per second/]) assert.match(body, part);
  await tabTo(page, "summary", "Epochs");
  await page.keyboard.press("Enter");
  await waitForGrowth(page);
  const [isOpen, focus] = await page.evaluate(() => [
    document.activeElement.parentElement.open,
    document.activeElement.textContent,
  ]);
  assert.deepEqual([isOpen, focus], [true, "Epochs"], "an update keeps open details and the focus");
  await check(page, "run");
  return page;
}

/** The values under the pointer, and a part of the epochs that is marked with the pointer. */
async function checkPointer(page) {
  // One call: between two, an update can replace the chart.
  const place = async (share) => {
    await page.waitForSelector("svg.chart");
    const { x, y, width, height } = await page.$eval("svg.chart", (chart) => chart.getBoundingClientRect().toJSON());
    return [x + share * width, y + height / 2];
  };
  const at = async (share) => page.mouse.move(...await place(share));
  await at(0.9);
  const readout = await page.$eval("#readout", ({ innerText }) => innerText);
  assert.match(readout, /^spirals\/\S+, epoch \d+: [\d.]+( %)?$/m);
  await at(0.5);
  await page.mouse.down();
  await at(0.95);
  await Promise.all([page.waitForNavigation(wait), page.mouse.up()]);
  const { searchParams } = new URL(page.url());
  assert.ok(Number(searchParams.get("from")) < Number(searchParams.get("to")), page.url());
  const middle = await place(0.5);
  await Promise.all([page.waitForNavigation(wait), page.mouse.click(...middle, { count: 2 })]);
  assert.equal(new URL(page.url()).searchParams.get("from"), null);
}

/** The view of a folder with three complete runs and one in training. */
async function checkFolder(browser, { url }) {
  const page = await openPage(browser, url, faultsOf("runs"));
  await page.goto(url);
  assert.match(await page.$eval("#part", ({ innerText }) => innerText), /^4 of 4 runs\./);
  assert.deepEqual((await column(page, "state")).map((text) => text.replace(/, .*/, "")).sort(), [
    ...["complete", "complete", "complete", "training"],
  ]);

  const rates = ["0.003", "0.01", "0.03"];
  const trained = async () => (await column(page, "learning rate")).filter((rate) => rates.includes(rate));
  await tabTo(page, "thead a", "learning rate");
  await enter(page);
  assert.deepEqual(await trained(), rates.toReversed());
  await tabTo(page, "thead a", "learning rate");
  await waitForGrowth(page);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "learning rate", "the focus stays");
  await enter(page);
  assert.deepEqual(await trained(), rates);
  assert.deepEqual(await texts(page, "thead th[aria-sort=ascending]"), ["learning rate"]);

  await tabTo(page, "summary", "Settings");
  await page.keyboard.press("Enter");
  assert.match(await page.$eval("details p", ({ innerText }) => innerText), /^\d+ of \d+ settings differ/);
  const rows = await page.$$eval("details tbody tr", (rows) =>
    rows.map((row) => [row.firstChild.textContent, row.querySelectorAll("b").length]));
  const marked = rows.filter(([, count]) => count > 0).map(([name]) => name);
  assert.deepEqual(marked.sort(), ["epochs", "learning rate"]);
  await checkPointer(page);
  await check(page, "runs");

  await tabTo(page, "input[name=words]");
  await page.keyboard.type("learning-rate=0.01");
  await enter(page);
  assert.deepEqual(await column(page, "state"), ["complete"]);
  await page.goto(url);
  await tabTo(page, "select[name=state]");
  await page.keyboard.type("training");
  await tabTo(page, "button");
  await enter(page);
  assert.equal((await column(page, "state")).length, 1);
  await tabTo(page, "tbody a");
  await enter(page);
  await waitForGrowth(page);
  return page;
}

/** Waits until a page is the report of a stopped run. The policy of the report blocks scripts that wait in the page. */
async function waitForReport(page) {
  for (let i = 0; i < 600; i++) {
    // The page is between two documents while it loads.
    const text = await page.evaluate(() => document.body.innerText).catch(() => "");
    if (/stopped after \d+ of 5000 epochs/.test(text)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${page.url()} does not become a report`);
}

const browser = await launch();
const tasks = [];
try {
  const words = ["spirals", "--device", "cpu", "--epochs", "5000", "--learning-rate", "0.001", "--out", runs];
  tasks.push(await start("train", ...words, "--view", "0"));
  tasks.push(await start("view", runs, "--port", "0"));
  const [training, folder] = tasks;
  const run = await checkRun(browser, training);
  const opened = await checkFolder(browser, folder);
  await run.bringToFront();
  interrupt(training);
  await waitForReport(run);
  await opened.bringToFront();
  await waitForReport(opened);
  const name = new URL(opened.url()).searchParams.get("name");
  const report = await openPage(browser, "file://", faultsOf("report"));
  await report.goto(`file://${runs}/${name}/report.html`);
  await check(report, "report");
} catch (error) {
  faults.push(error.stack);
} finally {
  await browser.close();
  tasks.forEach(interrupt);
}
console.log(faults.join("\n"));
console.log(`live views: ${faults.length} faults`);
process.exit(faults.length > 0 ? 1 : 0);
