/**
 * Runs `example.js` in pages of Debian's Chromium: with and without isolation from other origins, which is with threads and shared
 * memory and without, and bundled by Vite. Any error of a page is a failure.
 */
import assert from "node:assert/strict";
import puppeteer from "puppeteer-core";
import { isolation, serve } from "./server.js";

const browser = await puppeteer.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
try {
  for (
    const [name, path, headers] of [
      ["isolated", "page.html", isolation],
      ["not isolated", "page.html", {}],
      ["bundled by Vite", "built/vite.html", isolation],
    ]
  ) {
    const server = await serve(headers);
    const page = await browser.newPage();
    const printed = await new Promise((resolve, reject) => {
      page.on("pageerror", reject);
      page.on(
        "console",
        (message) => message.type() === "log" ? resolve(message.text()) : reject(new Error(message.text())),
      );
      page.goto(`http://127.0.0.1:${server.address().port}/${path}`).catch(
        reject,
      );
      setTimeout(
        () => reject(new Error("no result after two minutes")),
        120_000,
      ).unref();
    });
    assert.match(printed, /^held-out accuracy 0\.9[5-9]/);
    console.log(`Chromium, ${name}: ${printed}`);
    await page.close();
    server.close();
  }
} finally {
  await browser.close();
}
