/**
 * Drives the playground in Debian's Chromium, and what every visitor does in Firefox too. It opens with trained models that play series. Trains each model on the CPU, with
 * and without isolation from other origins, and on WebGPU (SwiftShader); pauses and steps; draws with the pointer, by touch and by
 * keys; exports a run, which `deno task predict` must read with equal digits; drops runs and tables; chooses the columns of tables;
 * opens links to a state. Once everything is done by keyboard alone.
 *
 * Arguments: the folder of the site, the folder of the repository, "" or a folder for screenshots, and the command of Deno.
 */
import { unzipSync } from "fflate";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { checkStates, isInFirefox, launch, launchFirefox, openPage, states } from "./pages.js";
import { isolation, serve } from "./serve.js";

const [site, repository, screenshots, ...deno] = process.argv.slice(2);

/**
 * Most bytes of all files of the playground, compressed, of which a page loads about half: the code of each model is loaded on demand. And
 * most bytes of the trained models that come with it.
 */
const [sizeLimit, trainedLimit] = [490_000, 60_000];
/** Most milliseconds of a task of the page's thread. */
const taskLimit = 100;
/** Least accuracy on the test set, in percent. */
const leastAccuracy = 95;
/** Most milliseconds of a training. */
const timeout = 120_000;

const folder = mkdtempSync(join(tmpdir(), "playground-"));
if (screenshots) mkdirSync(screenshots, { recursive: true });

const textOf = (page, id) => page.$eval(`#${id}`, (element) => element.textContent);
const waitFor = (page, id, pattern) =>
  page.waitForFunction(
    (id, pattern) => new RegExp(pattern).test(document.getElementById(id).textContent),
    { timeout },
    id,
    pattern,
  ).catch(async ({ message }) => {
    throw new Error(`#${id} should match ${pattern}, is: ${await textOf(page, id)}; ${await textOf(page, "fault")}; ${message}`);
  });

/** Headers for a browser. Under its driver, Firefox sometimes stops a worker that opens workers, so it has no threads here. */
const headersFor = (start) => start === launch ? isolation : {};

/** Opens the playground, and records its long tasks. @param state Hash of the address. */
async function openPlayground(browser, server, { state = "", motion = "reduce", isReady = "(trained|Done|Stopped)" } = {}) {
  const address = `http://127.0.0.1:${server.address().port}`;
  const faults = [];
  const page = await openPage(browser, address, (text) => faults.push(text));
  const isFirefox = isInFirefox(page);
  if (!isFirefox) await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: motion }]);
  await page.evaluateOnNewDocument(() => {
    globalThis.longTasks = [];
    // Firefox records no long tasks.
    if (PerformanceObserver.supportedEntryTypes.includes("longtask")) {
      new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration)))
        .observe({ type: "longtask", buffered: true });
    }
    // Numbers of drawings of the plane.
    globalThis.planes = 0;
    const { prototype } = CanvasRenderingContext2D;
    const { putImageData } = prototype;
    prototype.putImageData = function (...given) {
      globalThis.planes++;
      return putImageData.apply(this, given);
    };
  });
  await page.goto(`${address}/playground/index.html${state}`);
  await waitFor(page, "status", isReady);
  if (isFirefox) return { page, faults };
  // Files that the page saves.
  const session = await page.createCDPSession();
  await session.send("Browser.setDownloadBehavior", {
    ...{ behavior: "allowAndName", downloadPath: folder, eventsEnabled: true },
  });
  return { page, session, faults };
}

/** A table of series that rise or fall, which a model learns in a few steps. */
function easyTable() {
  const rows = Array.from({ length: 360 }, (_, i) => {
    const [series, time] = [Math.floor(i / 6), i % 6];
    const sign = series % 2 ? 1 : -1;
    return `s${series},${time},${Math.sin(series) + 0.7 * sign * time},${sign > 0 ? "up" : "down"}`;
  });
  const path = join(folder, "easy.csv");
  writeFileSync(path, ["series,time,x,label", ...rows].join("\n"));
  return path;
}

/** A file of a table. */
function tableFile(name, lines) {
  const path = join(folder, name);
  writeFileSync(path, lines.join("\n"));
  return path;
}

/** A table with a time that is no number. */
function brokenTable() {
  const path = join(folder, "broken.csv");
  writeFileSync(path, "series,time,x,label\na,0,1,up\na,1,2,up\na,soon,3,up\nb,0,1,down\nb,1,0,down\n");
  return path;
}

/** Trains at full speed. Returns the accuracy on the test set in percent, and the longest task of the page in milliseconds, 0 below 50. */
async function train(page, { model, device = "cpu", isEasy = false, epochs }) {
  await page.select("#model", model);
  await waitFor(page, "status", "trained: [0-9.]+ %");
  if (isEasy) await (await page.$("#table")).uploadFile(easyTable());
  if (isEasy) await waitFor(page, "status", "easy.csv is read");
  await page.select("#device", device);
  await page.$eval("#epochs", (input, epochs) => input.value = epochs, `${epochs}`);
  await page.$eval("#full", (input) => input.checked || input.click());
  await page.evaluate(() => globalThis.longTasks = []);
  await page.click("#train");
  await waitFor(page, "status", "^(Done|Not trained|Stopped)");
  const longest = Math.max(0, ...await page.evaluate(() => globalThis.longTasks));
  assert.ok(longest <= taskLimit, `${model}: a task of the page of ${longest} ms`);
  const status = await textOf(page, "status");
  const accuracy = Number(/^Done: ([\d.]+)/.exec(status)?.[1]);
  assert.ok(accuracy >= leastAccuracy, `${model}: ${status} ${await textOf(page, "fault")}`);
  return { accuracy, longest };
}

let files = 0;

/** Saves a file by an action, and returns its path. */
async function saved(session, act) {
  const done = new Promise((resolve) => {
    let name = "";
    session.on("Browser.downloadWillBegin", ({ suggestedFilename }) => name = suggestedFilename);
    session.on("Browser.downloadProgress", ({ state, guid }) => state === "completed" && resolve([guid, name]));
  });
  await act();
  const [guid, name] = await done;
  session.removeAllListeners("Browser.downloadWillBegin");
  session.removeAllListeners("Browser.downloadProgress");
  const path = join(folder, `${++files}-${name}`);
  renameSync(join(folder, guid), path);
  return path;
}

/** Drops files or a folder on the page, as a user does. */
async function drop(session, ...files) {
  const data = { items: [], files, dragOperationsMask: 1 };
  // Chromium drops the files only if the page has answered a dragOver.
  for (const type of ["dragEnter", "dragOver", "dragOver", "drop"]) {
    await session.send("Input.dispatchDragEvent", { type, x: 200, y: 100, data });
  }
}

/** Draws a spiral that turns counter-clockwise, and returns the predicted class. */
async function draw(page) {
  await page.$eval("#pad", (pad) => pad.scrollIntoView({ block: "center" }));
  const { x, y, width, height } = await page.$eval("#pad", (pad) => pad.getBoundingClientRect().toJSON());
  const at = (share) => {
    const [angle, radius] = [2.5 * Math.PI * share, 0.45 / (1 + 3 * share)];
    return [x + width * (0.5 + radius * Math.cos(angle)), y + height * (0.5 - radius * Math.sin(angle))];
  };
  await page.mouse.move(...at(0));
  await page.mouse.down();
  for (let i = 1; i <= 60; i++) await page.mouse.move(...at(i / 60));
  await page.mouse.up();
  const count = await page.$$eval("#pad .seen", (points) => points.length);
  await waitFor(page, "answer", `% after ${count} observations`);
  return await textOf(page, "answer");
}

/** The predictions of a table as CSV. */
async function predictions(page, session, table) {
  await page.$eval("#predictions", (box) => box.hidden = true);
  await (await page.$("#new")).uploadFile(table);
  await page.waitForSelector("#predictions:not([hidden])", { timeout });
  const rows = await page.$$eval("#predictions tbody tr", (rows) => rows.length);
  const csv = readFileSync(await saved(session, () => page.click("#download")), "utf8");
  assert.equal(csv.trimEnd().split("\n").length, rows + 1);
  return csv;
}

/** The page opens with a trained model that plays series, and a training is drawn epoch by epoch. */
async function checkMotion(start) {
  const [browser, server] = [await start(), await serve(site, headersFor(start))];
  const opened = performance.now();
  const { page, faults } = await openPlayground(browser, server, { motion: "no-preference" });
  const moves = () => page.waitForFunction(() => document.getElementById("moment").valueAsNumber > 2, { timeout });
  await moves();
  console.log(`moves ${((performance.now() - opened) / 1000).toFixed(1)} s after the start`);
  const { bottom } = await page.$eval("#pad", (pad) => pad.getBoundingClientRect().toJSON());
  assert.ok(bottom <= 844, `the pad ends at ${bottom} pixels`);
  assert.ok(await page.$$eval("#pad .data", (lines) => lines.length) >= 20);
  await checkNumbers(page);
  await page.click("#play");
  const moment = await page.$eval("#moment", ({ value }) => value);
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(await page.$eval("#moment", ({ value }) => value), moment, "a paused series");
  for (const model of ["neural-cde", "delta-cde", "warp"]) {
    await page.select("#model", model);
    await waitFor(page, "status", "trained: [0-9.]+ %");
    await page.$eval("#epochs", (input) => input.value = "12");
    await page.evaluate(() => {
      globalThis.planes = 0;
      globalThis.seen = { charts: new Set(), matrices: new Set() };
      new MutationObserver(() => {
        const { charts, matrices } = globalThis.seen;
        charts.add(document.querySelector("#charts").textContent + document.querySelector("#charts > :nth-child(2) path.line")?.getAttribute("d"));
        matrices.add(document.getElementById("matrices").innerHTML);
      }).observe(document.getElementById("matrices").parentElement, { childList: true, subtree: true });
    });
    const start = performance.now();
    await page.click("#train");
    await waitFor(page, "status", "^Done");
    const seconds = (performance.now() - start) / 1000;
    const [planes, charts, matrices] = await page.evaluate(() => [globalThis.planes, globalThis.seen.charts.size, globalThis.seen.matrices.size]);
    console.log(`${model}: ${planes} planes, ${charts} states and ${matrices} matrices drawn in ${seconds.toFixed(1)} s of 12 epochs`);
    assert.ok(planes >= 12 && charts >= 6 && (model === "neural-cde" || matrices >= 12), `${model} is not drawn in each epoch`);
  }
  assert.deepEqual(faults, []);
  await browser.close();
  server.close();
}

/** A link shows what its sender saw. */
async function checkLinks(start) {
  const [browser, server] = [await start(), await serve(site, headersFor(start))];
  const first = await openPlayground(browser, server, { state: "#model=delta-cde" });
  const answer = await draw(first.page);
  const stateOf = (page) => page.evaluate(() => location.hash);
  const drawn = await openPlayground(browser, server, { state: await stateOf(first.page) });
  const count = /after (\d+)/.exec(answer)[1];
  await waitFor(drawn.page, "answer", `after ${count} obs`);
  assert.equal(await textOf(drawn.page, "answer"), answer);
  assert.equal(await drawn.page.$eval("#model", ({ value }) => value), "delta-cde");
  const { page } = drawn;
  await page.bringToFront();
  await page.$eval("#epochs", (input) => input.value = "9");
  await page.click("#step");
  await waitFor(page, "status", "^Paused: epoch 1 of 9");
  await page.click("#step");
  await waitFor(page, "status", "^Paused: epoch 2 of 9");
  await page.click("#stop");
  await waitFor(page, "status", "^Stopped after 2 epochs");
  await page.waitForFunction(() => location.hash.includes("after=2"), { timeout });
  const before = await page.$eval("#classes progress", ({ value }) => value);
  const stopped = await openPlayground(browser, server, { state: await stateOf(page), isReady: "Stopped after 2 epochs" });
  await waitFor(stopped.page, "answer", `after ${count} obs`);
  await stopped.page.waitForFunction((before) => Math.abs(document.querySelector("#classes progress").value - before) < 1e-3, { timeout }, before);
  const gestures = await openPlayground(browser, server, { state: "#example=gestures&epochs=2&full=1" });
  assert.match(await textOf(gestures.page, "data"), /3 classes: tick, Z, circle/);
  console.log("links restore a drawing, a model and a training");
  assert.deepEqual([first, drawn, stopped, gestures].flatMap(({ faults }) => faults), []);
  await browser.close();
  server.close();
}

/** The columns of tables with other names are recognised, or chosen; what training would refuse is refused before. */
async function checkTables(start) {
  const [browser, server] = [await start(), await serve(site, headersFor(start))];
  const { page, faults } = await openPlayground(browser, server);
  const values = () => page.$$eval("#columns select", (lists) => lists.map(({ value }) => value));
  const upload = async (name, lines) => (await page.$("#table")).uploadFile(tableFile(name, lines));
  const isDisabled = () => page.$eval("#train", ({ disabled }) => disabled);
  const rows = Array.from({ length: 60 }, (_, i) => [`m${Math.floor(i / 5)}`, i % 5, Math.sin(i), i % 7]);

  await upload("machines.csv", ["ID,Timestamp,speed,heat,kind", ...rows.map((row) => [...row, Number(row[0].slice(1)) % 2 ? "ok" : "worn"].join())]);
  await waitFor(page, "status", "machines.csv is read: 12 series");
  assert.deepEqual(await values(), ["classify", "observations", "ID", "Timestamp", "kind"]);
  assert.equal(await page.$$eval("#first-rows tbody tr", (rows) => rows.length), 5);
  assert.equal(await page.$eval("#example", ({ selectedOptions: [{ text }] }) => text), "own table: machines.csv");
  await waitFor(page, "how", "right is speed, up is heat");
  await page.click("#channel-boxes input[value=heat]");
  await waitFor(page, "how", "a curve of speed");
  await checkStates(page, (text) => faults.push(text), (state) => screenshots && { path: `${screenshots}/table-${state}.png`, fullPage: true });

  await upload("renamed.csv", ["run,when,speed,result", ...rows.map(([a, b, c]) => [a, b, c, Number(a.slice(1)) % 2 ? "ok" : "worn"].join())]);
  await page.waitForSelector("#fault:not([hidden])", { timeout });
  assert.equal(await isDisabled(), true);
  for (const [id, value] of [["layout", "observations"], ["series-column", "run"], ["time-column", "when"], ["label-column", "result"]]) {
    await page.select(`#${id}`, value);
  }
  await waitFor(page, "status", "renamed.csv is read: 12 series");
  assert.deepEqual([await isDisabled(), await page.$eval("#fault", (box) => box.hidden)], [false, true]);

  await upload("one.csv", ["series,time,x,label", ...rows.map(([a, b, c]) => `${a},${b},${c},same`)]);
  await waitFor(page, "fault", "only the label");
  await upload("none.csv", ["series,time,x", ...rows.map(([a, b, c]) => `${a},${b},${c}`)]);
  await waitFor(page, "status", "none.csv is read: 12 series");
  assert.equal((await values())[0], "forecast");
  await page.select("#task", "classify");
  await waitFor(page, "fault", "the choice Label");
  assert.equal(await page.$eval("#label-column", (list) => list.ariaInvalid), "true");
  await upload("two.csv", ["series,time,x,label", "a,0,1,up", "a,1,2,up", "b,0,2,down", "b,1,1,down"]);
  await waitFor(page, "fault", "fewer than 3 series");
  assert.equal(await isDisabled(), true);
  await upload("whole.csv", ["name,label,0,1,2,3", ...Array.from({ length: 8 }, (_, i) => `s${i},${i % 2 ? "up" : "down"},1,2,${i % 2 ? "3,4" : "1,0"}`)]);
  await waitFor(page, "status", "whole.csv is read: 8 series");
  assert.equal((await values())[1], "rows");

  await page.select("#example", "spirals");
  await waitFor(page, "status", "trained: [0-9.]+ %");
  assert.equal(await page.$eval("#columns", (box) => box.hidden), true);
  console.log("columns are recognised and chosen; tables that cannot be trained on are refused");
  assert.deepEqual(faults, []);
  await browser.close();
  server.close();
}

/** The numbers of the axes are on the board of the pad, and do not overlap. */
async function checkNumbers(page) {
  for (const { width } of states) {
    await page.setViewport({ width, height: 844 });
    const { outside, overlapping, counts } = await page.$eval(".board", (board) => {
      const box = board.getBoundingClientRect();
      const boxes = ["x", "y"].map((axis) => [...board.querySelectorAll(`.numbers .${axis}`)].map((number) => number.getBoundingClientRect()));
      const overlaps = (a, b) => a !== b && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      return {
        counts: boxes.map(({ length }) => length),
        outside: boxes.flat().filter((one) => one.left < box.left || one.right > box.right || one.top < box.top || one.bottom > box.bottom).length,
        overlapping: boxes.flatMap((all) => all.filter((one) => all.some((other) => overlaps(one, other)))).length,
      };
    });
    assert.ok(Math.min(...counts) >= 2, `numbers of the axes at ${width} pixels: ${counts}`);
    assert.deepEqual([outside, overlapping], [0, 0], `numbers outside the board, and overlapping ones, at ${width} pixels`);
  }
}

/** The forecast and its interval begin at the last observation, on the pad and in the chart. */
async function checkJoint(page, observations) {
  const firstOf = (selector) => page.$eval(selector, (path) => path.getAttribute("d").slice(1).split("L")[0]);
  const seen = await page.$$eval("#pad .seen", (points) => points.map((point) => `${point.getAttribute("cx")},${point.getAttribute("cy")}`));
  assert.deepEqual([await firstOf("#pad .future"), await firstOf("#pad .band")], [seen.at(-1), seen.at(-1)]);
  await page.waitForSelector("#charts .dashed", { timeout });
  const observed = await page.$eval("#charts [data-name=observed] path", (path) => path.getAttribute("d").slice(1).split("L"));
  const last = observed[observations - 1];
  assert.deepEqual([await firstOf("#charts .dashed path"), await firstOf("#charts path.band")], [last, last]);
}

/** A drawn past has a future, which a link keeps. */
async function checkFuture(start) {
  const [browser, server] = [await start(), await serve(site)];
  const { page, faults } = await openPlayground(browser, server);
  await page.select("#example", "future");
  await waitFor(page, "status", "^autoregression, trained");
  await page.click("#clear");
  await page.waitForFunction(() => !document.querySelector("#pad .band"), { timeout });
  const { x, y, width, height } = await page.$eval("#pad", (pad) => pad.getBoundingClientRect().toJSON());
  // Firefox rounds the places of the pointer, and the pad may begin between two pixels.
  await page.mouse.move(x + 2, y + height / 2);
  await page.mouse.down();
  for (let i = 1; i <= 60; i++) await page.mouse.move(x + 2 + width * 0.66 * i / 60, y + height * (0.5 - 0.25 * Math.sin(i * 0.3)));
  await page.mouse.up();
  await waitFor(page, "answer", "^32 observations. Next: -?[0-9.]+, with 80 % probability");
  await page.waitForSelector("#pad .band", { timeout });
  const answer = await textOf(page, "answer");
  console.log(`forecast: ${answer}`);
  await checkJoint(page, 32);
  await checkNumbers(page);
  await checkStates(page, (text) => faults.push(text), (state) => screenshots && { path: `${screenshots}/future-${state}.png`, fullPage: true });
  const opened = await openPlayground(browser, server, { state: await page.evaluate(() => location.hash) });
  await waitFor(opened.page, "answer", "^32 observations");
  assert.equal(await textOf(opened.page, "answer"), answer);
  await opened.page.select("#example", "spirals");
  await waitFor(opened.page, "status", "^Neural CDE, trained");

  // A visitor's table: the forecast after its end, and a link that contains the table and the training.
  const days = Array.from({ length: 120 }, (_, t) => {
    const date = new Date(Date.UTC(2026, 0, 1 + t)).toISOString().slice(0, 10);
    return `${date},${(20 + t / 10 + 5 * Math.sin(t * 2 * Math.PI / 7)).toFixed(1)}`;
  });
  await page.bringToFront();
  await (await page.$("#table")).uploadFile(tableFile("sales.csv", ["date,sales", ...days]));
  await waitFor(page, "status", "sales.csv is read: 1 series");
  await waitFor(page, "answer", "No model is trained yet");
  await page.$eval("#steps", (input) => {
    input.value = "7";
    input.dispatchEvent(new Event("change"));
  });
  await page.waitForFunction(() => document.getElementById("moment").max === "13", { timeout });
  await page.select("#model", "exponential-smoothing");
  await page.click("#train");
  await waitFor(page, "status", "^Done: Better than the .* forecast");
  await waitFor(page, "answer", "^14 observations. Next: [0-9.]+, with 80 % probability");
  const next = await textOf(page, "answer");
  console.log(`forecast of a table: ${await textOf(page, "status")} ${next}`);
  await checkJoint(page, 14);
  await checkNumbers(page);
  await checkStates(page, (text) => faults.push(text), (state) => screenshots && { path: `${screenshots}/sales-${state}.png`, fullPage: true });
  await page.evaluate(() => navigator.clipboard.writeText = () => Promise.resolve());
  await page.click("#share");
  await waitFor(page, "status", "copied with your table");
  const shared = await openPlayground(browser, server, { state: await page.evaluate(() => location.hash) });
  await waitFor(shared.page, "answer", "^14 observations");
  assert.equal(await textOf(shared.page, "answer"), next);
  assert.equal(await shared.page.$eval("#model", ({ value }) => value), "exponential-smoothing");
  assert.match(await textOf(shared.page, "command"), /--data sales.csv .*--model exponential-smoothing .*--horizon 7$/m);
  assert.deepEqual(shared.faults, []);
  assert.deepEqual([...faults, ...opened.faults], []);
  await browser.close();
  server.close();
}

/** Draws by touch on a phone. */
async function checkTouch() {
  const [browser, server] = [await launch(), await serve(site)];
  const { page, session, faults } = await openPlayground(browser, server);
  // Loads the page again.
  await page.setViewport({ width: 390, height: 844, hasTouch: true, isMobile: true });
  await waitFor(page, "status", "trained");
  await waitFor(page, "answer", "observations");
  const { x, y, width, bottom } = await page.$eval("#pad", (pad) => pad.getBoundingClientRect().toJSON());
  assert.ok(bottom <= 844, `the pad ends at ${bottom} pixels`);
  await page.tap("#menu");
  const pages = await page.$$eval("#pages a", (links) => links.filter((link) => link.checkVisibility()).map(({ textContent }) => textContent));
  assert.deepEqual(pages, ["Start", "Guides", "Research", "Internals", "Reference", "Playground"]);
  await page.tap("#menu");
  const at = (i) => [{ x: x + width * (0.5 + 0.35 * Math.cos(i / 4)), y: y + width * (0.5 - 0.35 * Math.sin(i / 4)) }];
  const touch = (type, touchPoints) => session.send("Input.dispatchTouchEvent", { type, touchPoints });
  await touch("touchStart", at(0));
  for (let i = 1; i < 25; i++) await touch("touchMove", at(i));
  await touch("touchEnd", []);
  await waitFor(page, "answer", "^counter-clockwise: .* after \\d\\d observations$");
  assert.equal(await page.evaluate(() => scrollY), 0);
  console.log(`by touch: ${await textOf(page, "answer")}`);
  assert.deepEqual(faults, []);
  await browser.close();
  server.close();
}

/** Trains every model in a browser. */
async function checkModels(name, { headers, start = launch, trainings }) {
  const [browser, server] = [await start(), await serve(site, headers)];
  const { page, faults } = await openPlayground(browser, server);
  assert.equal(await page.evaluate(() => globalThis.crossOriginIsolated), headers === isolation);
  for (const training of trainings) {
    const begun = performance.now();
    const { accuracy, longest } = await train(page, training);
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    console.log(`${name}: ${training.model}: ${accuracy} % after ${seconds} s; longest task of the page ${longest || "below 50"} ms`);
  }
  assert.deepEqual(faults, []);
  await browser.close();
  server.close();
}

/** Everything that a visitor does with a pointer and files. */
async function checkFiles() {
  const [browser, server] = [await launch(), await serve(site, isolation)];
  const { page, session, faults } = await openPlayground(browser, server);
  const fault = (text) => faults.push(text);

  await page.$eval("#full", (input) => input.click());
  await page.$eval("#epochs", (input) => input.value = "4");
  await page.click("#step");
  await waitFor(page, "status", "^Paused: epoch 1 of 4");
  await page.click("#step");
  await waitFor(page, "status", "^Paused: epoch 2 of 4");
  await page.click("#pause");
  await waitFor(page, "status", "^Done");
  console.log("a training is paused, stepped and continued");

  for (const model of ["delta-cde", "warp", "neural-cde"]) {
    await train(page, { model, epochs: 40 });
    assert.match(await draw(page), /^counter-clockwise: /);
    const picture = (state) => screenshots && { path: `${screenshots}/${model}-${state}.png`, fullPage: true };
    await checkStates(page, fault, picture);
    const matrices = await page.$$eval("#matrices svg", (pictures) => pictures.length);
    assert.equal(matrices, { "delta-cde": 1, warp: 4, "neural-cde": 0 }[model]);
    const zip = await saved(session, () => page.click("#save"));
    const table = await saved(session, () => page.click("#test-series"));
    const run = join(folder, model);
    for (const [name, bytes] of Object.entries(unzipSync(readFileSync(zip)))) {
      mkdirSync(join(run, name, ".."), { recursive: true });
      writeFileSync(join(run, name), bytes);
    }
    const csv = await predictions(page, session, table);
    const [command, ...first] = deno;
    const args = [...first, "task", "--quiet", "predict", join(run, "weft-run"), table];
    const printed = execFileSync(command, args, { cwd: repository, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const rows = printed.trimEnd().split("\n").map((line) => JSON.parse(line)).map(({ series, label, probability, probabilities }) =>
      [series, label, probability, ...Object.values(probabilities)].join());
    assert.deepEqual(csv.trimEnd().split("\n").slice(1), rows, `${model}: predictions of deno task predict`);
    for (const [kind, path] of [["zip archive", zip], ["folder", join(run, "weft-run")]]) {
      await drop(session, path);
      await waitFor(page, "status", "^The run is open");
      assert.equal(await predictions(page, session, table), csv, `${model}: predictions of a dropped ${kind}`);
      assert.equal(await page.$eval("#model", ({ value }) => value), model);
      await page.select("#example", "spirals");
      await waitFor(page, "status", "trained: [0-9.]+ %");
    }
    console.log(`${model}: drawn, exported, and equal in deno task predict and in a dropped run`);
  }

  await drop(session, brokenTable());
  await waitFor(page, "fault", "invalid-cell");
  console.log(`a broken table: ${await textOf(page, "fault")}`);
  assert.match(await textOf(page, "fault"), /^invalid-cell: broken\.csv, line 4: .*soon/);
  await checkStates(page, fault, (state) => screenshots && { path: `${screenshots}/fault-${state}.png` });

  await drop(session, easyTable());
  await waitFor(page, "data", "^60 series; 2 classes");
  assert.equal(await page.$eval("#fault", (box) => box.hidden), true);
  await page.click("#train");
  await waitFor(page, "status", "^Done");
  console.log(`a dropped table: ${await textOf(page, "status")}`);
  const [accuracy] = /[0-9.]+ %/.exec(await textOf(page, "status"));
  const [, , , ...args] = (await textOf(page, "command")).match(/deno task train.*/)[0].split(" ");
  args[args.indexOf("easy.csv")] = easyTable();
  const printed = execFileSync(deno[0], [...deno.slice(1), "task", "--quiet", "train", ...args, "--out", folder], { cwd: repository, encoding: "utf8", stdio: "pipe" });
  assert.match(printed, new RegExp(`${accuracy} of the series are classified correctly`));
  console.log(`the same by command: ${args.join(" ")}`);
  await page.select("#device", "webgpu");
  await page.click("#train");
  await waitFor(page, "fault", "^unusable-option: WebGPU is missing: .*; choose the CPU");
  console.log(`without WebGPU: ${await textOf(page, "fault")}`);

  assert.deepEqual(faults, []);
  await browser.close();
  server.close();
}

/** Other data are chosen at any time of a training, and a training is begun at any time of the opening of data. */
async function checkChanges(start) {
  const [browser, server] = [await start(), await serve(site, headersFor(start))];
  const { page, faults } = await openPlayground(browser, server);
  for (const [i, wait] of [0, 10, 30, 100, 200, 400, 700, 1000].entries()) {
    await page.click("#train");
    await new Promise((resolve) => setTimeout(resolve, wait));
    await page.select("#example", i % 2 ? "spirals" : "waves");
    await waitFor(page, "data", `^300 series; 2 classes: ${i % 2 ? "counter" : "slow"}`);
    await waitFor(page, "status", i % 2 ? "trained: [0-9.]+ %" : "Epoch|Done");
    if (i % 2 === 0) await page.click("#stop");
    if (i % 2 === 0) await waitFor(page, "status", "^Stopped|^Done");
    assert.equal(await page.$eval("#fault", (box) => box.hidden), true, await textOf(page, "fault"));
  }
  console.log("other data are chosen while a model trains");
  await page.$eval("#epochs", (input) => input.value = "2");
  for (const [i, wait] of [0, 5, 20].entries()) {
    await page.$eval("#status", (status) => status.textContent = "");
    await page.select("#model", i % 2 ? "neural-cde" : "warp");
    await new Promise((resolve) => setTimeout(resolve, wait));
    await page.click("#train");
    await waitFor(page, "status", "^Done");
  }
  console.log("a model trains if Train is pressed while its weights are loaded");
  assert.deepEqual(faults, []);
  await browser.close();
  server.close();
}

/** Trains, draws, exports and opens a broken table by keyboard alone. */
async function checkKeyboard() {
  const [browser, server] = [await launch(), await serve(site)];
  const { page, session, faults } = await openPlayground(browser, server);
  const { keyboard } = page;
  /** Moves the focus to an element by the tab key. */
  const focus = async (id) => {
    for (let i = 0; i < 60; i++) {
      if (await page.evaluate(() => document.activeElement.id) === id) return;
      await keyboard.press("Tab");
    }
    assert.fail(`the tab key does not reach ${id}`);
  };
  await focus("model");
  await keyboard.type("fast");
  assert.equal(await page.$eval("#model", ({ value }) => value), "delta-cde");
  await waitFor(page, "status", "^fast weights, trained");
  await focus("full");
  await keyboard.press(" ");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await focus("epochs");
  await keyboard.press("ArrowDown");
  await keyboard.down("Shift");
  await focus("train");
  await keyboard.up("Shift");
  await keyboard.press("Enter");
  await waitFor(page, "status", "^Done");
  await focus("pad");
  const square = ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"];
  for (let i = 0; i < 7; i++) await keyboard.press("ArrowRight");
  for (let side = 1; side <= 6; side++) {
    await keyboard.press(" ");
    for (let i = 0; i < 8 - side; i++) await keyboard.press(square[side % 4]);
  }
  await waitFor(page, "answer", "% after 6 observations");
  console.log(`by keyboard: ${await textOf(page, "status")} ${await textOf(page, "answer")}`);
  await focus("save");
  const zip = await saved(session, () => keyboard.press("Enter"));
  assert.ok("weft-run/best.safetensors" in unzipSync(readFileSync(zip)));
  await keyboard.down("Shift");
  await focus("own");
  await keyboard.up("Shift");
  await session.send("Page.enable");
  await session.send("Page.setInterceptFileChooserDialog", { enabled: true });
  const opened = new Promise((resolve) => session.once("Page.fileChooserOpened", resolve));
  await keyboard.press("Enter");
  const { backendNodeId } = await opened;
  await session.send("DOM.setFileInputFiles", { files: [brokenTable()], backendNodeId });
  await waitFor(page, "fault", "^invalid-cell");
  assert.deepEqual(faults, []);
  await browser.close();
  server.close();
}

/** The first page of the site has a live demo, and leads to the playground, although VitePress does not build it. */
async function checkLink() {
  const [browser, server] = [await launch(), await serve(site)];
  const faults = [];
  const address = `http://127.0.0.1:${server.address().port}`;
  const page = await openPage(browser, address, (text) => faults.push(text));
  await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "no-preference" }]);
  const start = performance.now();
  await page.goto(`${address}/index.html`);
  await page.waitForFunction(() => document.getElementById("moment")?.valueAsNumber > 2, { timeout });
  console.log(`the demo of the first page moves ${((performance.now() - start) / 1000).toFixed(1)} s after the start`);
  for (const model of ["delta-cde", "warp"]) {
    await page.select(".demo #model", model);
    await page.waitForSelector("#matrices svg", { timeout });
  }
  assert.match(await draw(page), /^counter-clockwise/);
  // The other pages of the site end the demo.
  const { length } = page.workers();
  await page.click(".vp-doc a[href$='getting_started.html']");
  await page.waitForFunction(() => document.querySelector("h1")?.textContent.startsWith("Getting started"), { timeout });
  assert.equal(page.workers().length, length - 1);
  await page.goto(`${address}/index.html`, { waitUntil: "networkidle0" });
  await Promise.all([page.waitForNavigation(), page.click(".vp-doc a[href$='playground/index.html']")]);
  assert.equal(await page.$eval("h1", (title) => title.textContent), "Playground");
  assert.deepEqual(faults, []);
  await browser.close();
  server.close();
}

const start = performance.now();
const size = readdirSync(join(site, "playground")).reduce((sum, name) => sum + gzipSync(readFileSync(join(site, "playground", name))).length, 0);
console.log(`playground: ${size} bytes compressed, the code of GPUs included`);
assert.ok(size <= sizeLimit, `${size} bytes, expected at most ${sizeLimit}`);
const trained = readdirSync(join(site, "playground")).filter((name) => name.endsWith(".run")).map((name) => readFileSync(join(site, "playground", name)).length);
console.log(`trained models: ${trained.join(", ")} bytes`);
assert.ok(trained.reduce((sum, bytes) => sum + bytes) <= trainedLimit);
const trainings = [
  { model: "neural-cde", epochs: 15 },
  { model: "delta-cde", epochs: 15 },
  { model: "warp", epochs: 40 },
];
await checkLink();
for (
  const [name, start] of [
    ["Chromium", launch],
    ["Firefox", launchFirefox],
  ]
) {
  console.log(name);
  await checkMotion(start === launch ? launch : () => launchFirefox({ reducesMotion: false }));
  await checkLinks(start);
  await checkTables(start);
  await checkFuture(start);
  await checkChanges(start);
}
await checkTouch();
await checkModels("Firefox, CPU", { headers: {}, start: launchFirefox, trainings });
await checkModels("CPU, isolated", { headers: isolation, trainings });
await checkModels("CPU, not isolated", { headers: {}, trainings });
await checkModels("WebGPU", {
  headers: isolation,
  start: () => launch(["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]),
  trainings: [
    { model: "neural-cde", epochs: 3, device: "webgpu" },
    { model: "delta-cde", epochs: 3, device: "webgpu" },
    { model: "warp", epochs: 6, device: "webgpu", isEasy: true },
  ],
});
await checkFiles();
await checkKeyboard();
console.log(`playground: ${((performance.now() - start) / 1000).toFixed(0)} s`);
