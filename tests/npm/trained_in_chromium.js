/**
 * Checks trained models in a page of Debian's Chromium, the page of docs/guides/predictions.md, which is in `predictions.html`, and the
 * component of Next of docs/guides/web_page.md, if it was built.
 * The pages are not isolated from other origins: the tests of the library and the example of the README run with and without isolation.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import puppeteer from "puppeteer-core";
import { serve } from "./server.js";

const { models } = JSON.parse(readFileSync("trained/expected.json", "utf8"));

/** Opens a page, whose errors end the process. */
async function open(browser, server, path) {
  const page = await browser.newPage();
  page.on("pageerror", (error) => {
    throw error;
  });
  const printed = new Promise((resolve, reject) => {
    page.on(
      "console",
      (line) => line.type() === "log" ? resolve(line.text()) : reject(new Error(line.text())),
    );
  });
  printed.catch(() => {});
  await page.goto(`http://127.0.0.1:${server.address().port}/${path}`);
  return { page, printed };
}

const browser = await puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  const server = await serve({});
  const { printed } = await open(browser, server, "trained.html");
  const text = await printed;
  assert.match(text, /^10 models and 10 damaged runs; a model of the page predicts b$/);
  console.log(`Chromium: ${text}`);
  const { page } = await open(browser, server, "predictions.html");
  const answers = async () => {
    // Choosing the same file again is no change.
    await page.$eval("#table", (input) => void (input.value = ""));
    await (await page.$("#table")).uploadFile("trained/classifier/new.csv");
    await page.waitForFunction(() => document.getElementById("answers").textContent !== "");
    return await page.$eval("#answers", (element) => {
      const text = element.textContent;
      element.textContent = "";
      return text;
    });
  };
  assert.deepEqual(JSON.parse(await answers()), models[0].answers);
  await (await page.$("#run")).uploadFile("trained/ensemble");
  assert.deepEqual(JSON.parse(await answers()), models.find(({ name }) => name === "ensemble").answers);
  console.log("Chromium: a folder and a table that a user chooses");
  server.close();
  if (existsSync("next/out")) {
    const server = await serve({}, "next/out");
    const { page } = await open(browser, server, "index.html");
    // React hears the events of an element after it has given the element this property.
    await page.waitForFunction(() => Object.keys(document.querySelector("input")).some((name) => name.startsWith("__reactProps")));
    await (await page.$("input")).uploadFile("trained/classifier/new.csv");
    await page.waitForFunction(() => document.querySelector("output").textContent !== "");
    assert.deepEqual(JSON.parse(await page.$eval("output", ({ textContent }) => textContent)), models[0].answers);
    console.log("Chromium: a component of Next predicts a table");
    server.close();
  }
} finally {
  await browser.close();
}
