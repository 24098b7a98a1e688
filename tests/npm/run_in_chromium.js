/**
 * Runs pages in Debian's Chromium: the example of the README with and without isolation from other origins, which is with threads and
 * shared memory and without, and bundled by Vite; the training in a worker of docs/guides/devices.md; trained models, bundled by
 * webpack, if this was built; and pages whose Content Security
 * Policies forbid workers from blobs or WebAssembly. Any other error of a page is a failure.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import puppeteer from "puppeteer-core";
import { isolation, serve } from "./server.js";

const policy = {
  ...isolation,
  "content-security-policy":
    "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; worker-src 'self'",
};
const trained = /^held-out accuracy 0\.9[5-9]/;

const cases = [
  {
    name: "isolated",
    path: "page.html",
    headers: isolation,
    expected: trained,
  },
  { name: "not isolated", path: "page.html", headers: {}, expected: trained },
  {
    name: "bundled by Vite",
    path: "built/vite.html",
    headers: isolation,
    expected: trained,
  },
  {
    name: "in a worker",
    path: "built/worker.html",
    headers: isolation,
    expected: /^step 80: loss 0\.0\d+; long tasks of the page: 0$/,
  },
  {
    name: "bundled by webpack",
    path: "webpack.html",
    headers: {},
    needs: "built/webpack/main.js",
    expected: /^10 models and 10 damaged runs; a model of the page predicts b$/,
  },
  {
    name: "policy without blobs",
    path: "policy.html",
    headers: policy,
    expected:
      /^1 thread, .*one thread, because the Content Security Policy .* 0 tasks/,
    // Chromium reports the forbidden worker.
    error:
      /violates the following Content Security Policy directive: "worker-src 'self'"/,
  },
  {
    name: "policy without blobs, hosted worker",
    path: "policy.html?hosted",
    headers: policy,
    expected: /^2 threads, .*shared memory .* [1-9]\d* tasks/,
  },
  {
    name: "policy without WebAssembly",
    path: "policy.html?hosted",
    headers: {
      ...policy,
      "content-security-policy": "script-src 'self' 'unsafe-inline'",
    },
    expected:
      /: the Content Security Policy of a page needs script-src 'wasm-unsafe-eval'$/,
    // Chromium reports the forbidden module.
    error: /WebAssembly/,
  },
];

/** The first line that a page prints. */
async function firstLine(browser, { path, headers, error }) {
  const server = await serve(headers);
  const page = await browser.newPage();
  try {
    return await new Promise((resolve, reject) => {
      page.on("pageerror", reject);
      page.on("console", (message) => {
        if (message.type() === "log") resolve(message.text());
        else if (!error?.test(message.text())) {
          reject(new Error(message.text()));
        }
      });
      page.goto(`http://127.0.0.1:${server.address().port}/${path}`).catch(
        reject,
      );
      setTimeout(
        () => reject(new Error("no result after two minutes")),
        120_000,
      ).unref();
    });
  } finally {
    await page.close();
    server.close();
  }
}

const browser = await puppeteer.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  for (const { name, expected, needs, ...rest } of cases) {
    if (needs && !existsSync(needs)) continue;
    const printed = await firstLine(browser, rest);
    assert.match(printed, expected, name);
    console.log(`Chromium, ${name}: ${printed}`);
  }
} finally {
  await browser.close();
}
