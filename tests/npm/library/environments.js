/** Environments of the tests: Node, and pages of Debian's Chromium. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import puppeteer from "puppeteer-core";
import { isolation, serve } from "../server.js";
import { bundlesOf, goldenTests } from "./golden_tests.js";

/** Most milliseconds for the tests of a layer. All environments together take up to a minute on two idle cores. */
const limit = 300_000;

/** Runs a layer's tests in a process of Node. */
async function runInNode(layer) {
  const node = spawn(process.execPath, ["library/run_in_node.js", layer], { stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => node.kill(), limit);
  const lines = (await text(node.stdout)).trimEnd().split("\n");
  clearTimeout(timer);
  const counts = lines.pop();
  lines.forEach((line) => console.log(line));
  return JSON.parse(counts);
}

/** Runs a layer's tests in a page. Each error of the page is a failure. */
async function runInPage(page, layer, settings) {
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.stack));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
    else console.log(message.text());
  });
  const counts = await page.evaluate(
    async (bundles, settings) => {
      const { runTests } = await import("/tests/run_tests.js");
      return await runTests(bundles, settings, console.log);
    },
    bundlesOf(layer),
    settings,
  );
  errors.forEach((error) => console.log(`FAILED: the page has an error: ${error}`));
  return { ...counts, failed: counts.failed + errors.length };
}

/** Opens a browser, and a page for each layer. */
async function openChromium({ isIsolated, flags = [], settings = { variables: {}, pattern: "" } }) {
  const server = await serve(isIsolated ? isolation : {});
  const browser = await puppeteer.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", ...flags],
    protocolTimeout: limit,
  });
  return {
    async run(layer) {
      const page = await browser.newPage();
      try {
        await page.goto(`http://127.0.0.1:${server.address().port}/library/page.html`);
        assert.equal(await page.evaluate(() => globalThis.crossOriginIsolated), isIsolated);
        return await runInPage(page, layer, settings);
      } finally {
        await page.close();
      }
    },
    async close() {
      await browser.close();
      server.close();
    },
  };
}

const all = Object.keys(goldenTests);

/**
 * Layers that an environment can change on the CPU: memory, threads and WebAssembly. The other layers compute with their kernels and
 * loops, and run in Node.
 */
const kernels = ["device", "tensor", "compile"];

/** Environments: the layers that run, and a function that opens one. `run` runs a layer's tests and returns the counts of `runTests`. */
export const environments = {
  "Node, CPU": { layers: all, open: () => ({ run: runInNode, close: () => {} }) },
  "Chromium, CPU, isolated": { layers: kernels, open: () => openChromium({ isIsolated: true }) },
  "Chromium, CPU, not isolated": { layers: kernels, open: () => openChromium({ isIsolated: false }) },
  "Chromium, WebGPU": {
    layers: all,
    open: () =>
      openChromium({
        isIsolated: true,
        flags: ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
        settings: { variables: { WEFT_REQUIRE_WEBGPU: "1" }, pattern: "webgpu" },
      }),
  },
};
