/**
 * Trains in the playground with threads in Debian's Firefox. No driver controls Firefox: under a driver, a worker that opens workers
 * sometimes stops. A script in the page presses the buttons, and reports to the server.
 *
 * Arguments: the folder of the site, and the number of trainings of each model.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isolation, serve } from "./serve.js";

const [site, count = "10"] = process.argv.slice(2);

/** Most milliseconds between two reports. */
const timeout = 60_000;

/** Trains again and again, and reports the status after each training. */
async function trainAgain(count) {
  const status = document.getElementById("status");
  const until = async (pattern) => {
    while (!pattern.test(status.textContent)) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await until(/trained:/);
  for (let i = 0; i < count; i++) {
    status.textContent = "";
    document.getElementById("train").click();
    await until(/^(Done|Not|Stopped)/);
    await fetch(`/report?${encodeURIComponent(status.textContent)}`);
  }
}

for (const model of ["neural-cde", "delta-cde", "warp"]) {
  const reports = [];
  let [timer, resolve, reject] = [];
  const done = new Promise((...given) => [resolve, reject] = given);
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => reject(new Error(`${model}: training ${reports.length + 1} does not end`)), timeout);
  };
  const server = await serve(site, isolation, {
    script: `(${trainAgain})(${count});`,
    onReport(text) {
      reports.push(text);
      wait();
      if (reports.length === Number(count)) resolve();
    },
  });
  const profile = mkdtempSync(join(tmpdir(), "firefox-"));
  const address = `http://127.0.0.1:${server.address().port}/playground/index.html#model=${model}&full=1&epochs=15`;
  const start = performance.now();
  const firefox = spawn("/usr/bin/firefox-esr", ["--headless", "--no-remote", "--profile", profile, address], { stdio: "ignore" });
  wait();
  await done.finally(() => {
    clearTimeout(timer);
    firefox.kill();
    server.close();
  });
  for (const text of reports) assert.match(text, /^Done: .* \d+ threads/);
  console.log(`Firefox, ${model}: ${count} trainings with threads in ${((performance.now() - start) / 1000).toFixed(0)} s`);
}
