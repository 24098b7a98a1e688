/**
 * Drives the playground in Debian's Chromium. Trains each model on the CPU, with and without isolation from other origins,
 * and on WebGPU (SwiftShader); pauses and steps; draws with the pointer and by keys; exports a run, which `deno task predict`
 * must read with equal digits; drops runs, a table and a broken table. Once everything is done by keyboard alone.
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
import { checkStates, launch, openPage } from "./pages.js";
import { isolation, serve } from "./serve.js";

const [site, repository, screenshots, ...deno] = process.argv.slice(2);

/** Most bytes of the playground, compressed. */
const sizeLimit = 400_000;
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
  );

/** Opens the playground, and records its long tasks. */
async function openPlayground(browser, server) {
  const address = `http://127.0.0.1:${server.address().port}`;
  const faults = [];
  const page = await openPage(browser, address, (text) => faults.push(text));
  await page.evaluateOnNewDocument(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: "longtask", buffered: true });
  });
  await page.goto(`${address}/playground/index.html`);
  await waitFor(page, "data", "series of");
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

/** A table with a time that is no number. */
function brokenTable() {
  const path = join(folder, "broken.csv");
  writeFileSync(path, "series,time,x,label\na,0,1,up\na,1,2,up\na,soon,3,up\nb,0,1,down\nb,1,0,down\n");
  return path;
}

/** Trains. Returns the accuracy on the test set in percent, and the longest task of the page in milliseconds, 0 below 50. */
async function train(page, { model, device = "cpu", isEasy = false, epochs }) {
  await page.$eval("#data", (text) => text.textContent = "");
  if (isEasy) await (await page.$("#table")).uploadFile(easyTable());
  else await page.select("#example", "spirals");
  await waitFor(page, "data", "series of");
  await page.select("#model", model);
  await page.select("#device", device);
  await page.$eval("#epochs", (input, epochs) => input.value = epochs, `${epochs}`);
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
  // The view of the drawn series has no class.
  await waitFor(page, "charts", "Prediction[^;]*$");
  return await textOf(page, "answer");
}

/** The lines that the page predicts for a table. */
async function predictions(page, table) {
  await page.$eval("#lines", (lines) => lines.textContent = "");
  await (await page.$("#new")).uploadFile(table);
  await waitFor(page, "lines", "^\\{");
  return await textOf(page, "lines");
}

/** Trains every model in a browser. */
async function checkModels(name, { headers, flags = [], trainings }) {
  const [browser, server] = [await launch(flags), await serve(site, headers)];
  const { page, faults } = await openPlayground(browser, server);
  assert.equal(await page.evaluate(() => globalThis.crossOriginIsolated), headers === isolation);
  for (const training of trainings) {
    const start = performance.now();
    const { accuracy, longest } = await train(page, training);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
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

  await page.$eval("#epochs", (input) => input.value = "4");
  await page.click("#step");
  await waitFor(page, "status", "^Paused: epoch 1 of 4");
  await page.click("#step");
  await waitFor(page, "status", "^Paused: epoch 2 of 4");
  await page.click("#pause");
  await waitFor(page, "status", "^Done");
  console.log("a training is paused, stepped and continued");

  for (const model of ["delta-cde", "warp", "neural-cde"]) {
    await train(page, { model, epochs: 30 });
    assert.match(await draw(page), /^counter-clockwise: /);
    const picture = (state) => screenshots && { path: `${screenshots}/${model}-${state}.png`, fullPage: true };
    await checkStates(page, fault, picture);
    const matrices = await page.$$eval("#matrices svg", (pictures) => pictures.length);
    assert.equal(matrices, { "delta-cde": 1, warp: 4, "neural-cde": 0 }[model]);
    const zip = await saved(session, () => page.click("#save"));
    const table = await saved(session, () => page.click("#held-out"));
    const run = join(folder, model);
    for (const [name, bytes] of Object.entries(unzipSync(readFileSync(zip)))) {
      mkdirSync(join(run, name, ".."), { recursive: true });
      writeFileSync(join(run, name), bytes);
    }
    const lines = await predictions(page, table);
    const [command, ...first] = deno;
    const args = [...first, "task", "--quiet", "predict", join(run, "weft-run"), table];
    const printed = execFileSync(command, args, { cwd: repository, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    assert.equal(printed.trimEnd(), lines, `${model}: predictions of deno task predict`);
    for (const [kind, path] of [["zip archive", zip], ["folder", join(run, "weft-run")]]) {
      await drop(session, path);
      await waitFor(page, "status", "^The run is open");
      assert.equal(await predictions(page, table), lines, `${model}: predictions of a dropped ${kind}`);
      await page.select("#example", "waves");
      await page.select("#example", "spirals");
      await waitFor(page, "status", "^Press Train");
    }
    console.log(`${model}: drawn, exported, and equal in deno task predict and in a dropped run`);
  }

  await drop(session, brokenTable());
  await waitFor(page, "fault", "invalid-cell");
  console.log(`a broken table: ${await textOf(page, "fault")}`);
  assert.match(await textOf(page, "fault"), /^invalid-cell: broken\.csv, line 4: .*soon/);
  await checkStates(page, fault, (state) => screenshots && { path: `${screenshots}/fault-${state}.png` });

  await drop(session, easyTable());
  await waitFor(page, "data", "^60 series of 2 classes");
  assert.equal(await page.$eval("#fault", (box) => box.hidden), true);
  await page.click("#train");
  await waitFor(page, "status", "^Done");
  console.log(`a dropped table: ${await textOf(page, "status")}`);
  await page.select("#device", "webgpu");
  await page.click("#train");
  await waitFor(page, "fault", "^unusable-option: WebGPU is missing: .*; choose the CPU");
  console.log(`without WebGPU: ${await textOf(page, "fault")}`);

  await page.select("#device", "cpu");
  for (const [i, wait] of [0, 10, 30, 100, 200, 400, 700, 1000].entries()) {
    await page.click("#train");
    await new Promise((resolve) => setTimeout(resolve, wait));
    await page.select("#example", i % 2 ? "spirals" : "waves");
    await waitFor(page, "status", "^Press Train");
    await waitFor(page, "data", "^300 series");
    assert.equal(await page.$eval("#fault", (box) => box.hidden), true, await textOf(page, "fault"));
  }
  console.log("other data are chosen while a model trains");
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
  await focus("epochs");
  await keyboard.press("ArrowDown");
  await focus("train");
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
  await focus("table");
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

/** The first page of the site leads to the playground, although VitePress does not build it. */
async function checkLink() {
  const [browser, server] = [await launch(), await serve(site)];
  const faults = [];
  const address = `http://127.0.0.1:${server.address().port}`;
  const page = await openPage(browser, address, (text) => faults.push(text));
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
const trainings = [
  { model: "neural-cde", epochs: 15 },
  { model: "delta-cde", epochs: 15 },
  { model: "warp", epochs: 30 },
];
await checkLink();
await checkModels("CPU, isolated", { headers: isolation, trainings });
await checkModels("CPU, not isolated", { headers: {}, trainings });
await checkModels("WebGPU", {
  headers: isolation,
  flags: ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
  trainings: [
    { model: "neural-cde", epochs: 3, device: "webgpu" },
    { model: "delta-cde", epochs: 3, device: "webgpu" },
    { model: "warp", epochs: 6, device: "webgpu", isEasy: true },
  ],
});
await checkFiles();
await checkKeyboard();
console.log(`playground: ${((performance.now() - start) / 1000).toFixed(0)} s`);
