/** Requests to the view of a folder. */
import assert from "node:assert/strict";
import { findRuns, runReader } from "../../src/view/runs.ts";
import { viewOf } from "../../src/view/server.ts";
import { appendJsonLine } from "../../src/files/disk.ts";
import { writeJson } from "../../src/train/run/run_folder.ts";
import { testLong } from "../devices.ts";
import { withFolder } from "../tasks/command_line.ts";
import { makeRun, metricsOf, nameOf, progressOf } from "./folders.ts";

const address = "http://127.0.0.1:8100";

/** Requests a page, and returns its status, text and headers. */
async function get(handler: ReturnType<typeof viewOf>, path: string, init?: RequestInit) {
  const response = await handler(new Request(`${address}${path}`, init));
  return { status: response.status, text: await response.text(), headers: response.headers };
}

Deno.test(
  "a view finds the runs of experiments and of tables, and none in deeper folders",
  withFolder(async (out) => {
    const made = await Promise.all(["", "/table", "/other/table"].map((below) => makeRun(`${out}${below}`)));
    const [experiment, table] = made.map(({ path }) => path.slice(out.length + 1));
    assert.deepEqual([...(await findRuns(out)).keys()].sort(), [experiment, table].sort());
  }),
);

Deno.test(
  "the page of a run in training has its curves, time left, device, memory and data",
  withFolder(async (out) => {
    const { path } = await makeRun(out, { epochs: 2, progress: progressOf(3) });
    const { status, text, headers } = await get(viewOf(path), "/");
    assert.equal(status, 200);
    for (
      const shown of [
        "in training on a processor",
        "<b>3 of 4</b><span>epoch</span>",
        "<b>1 minute 30 seconds</b><span>time left</span>",
        "<b>123 MB</b><span>peak memory</span>",
        'aria-label="accuracy: accuracy"',
        "<li>twelve tones</li>",
        '<progress value="0.6250"',
      ]
    ) assert.ok(text.includes(shown), shown);
    assert.match(headers.get("content-security-policy")!, /^default-src 'none'; .*form-action 'self'/);
    assert.doesNotMatch(text, / style=/, "the policy blocks inline styles");
    const part = await get(viewOf(path), "/?part");
    assert.ok(text.includes(part.text), "the part is the content of the page");
    assert.doesNotMatch(part.text, /<script/);
  }),
);

testLong(
  "a page follows 1,000 updates of its run",
  withFolder(async (out) => {
    const folder = await makeRun(out, { progress: progressOf(1) });
    const handler = viewOf(folder.path);
    for (let epoch = 1; epoch <= 1000; epoch++) {
      await writeJson(folder.progress, progressOf(epoch + 1));
      if (epoch % 100 === 0) await appendJsonLine(folder.metrics, metricsOf(epoch / 100));
      const { status, text } = await get(handler, "/?part");
      assert.equal(status, 200);
      assert.ok(text.includes(`<b>${epoch + 1} of 4</b><span>epoch</span>`), `update ${epoch}`);
    }
  }),
);

Deno.test(
  "a view parses the files of a run again only if one of them changes",
  withFolder(async (out) => {
    const folder = await makeRun(out, { epochs: 2, progress: progressOf(3) });
    const read = runReader();
    const first = (await read("", folder))!;
    const again = (await read("", folder))!;
    assert.equal(again.metrics, first.metrics, "the same object");
    assert.equal(
      (await read("", folder, Date.now() + 61_000))!.state,
      "silent",
      "the state follows the time",
    );
    await appendJsonLine(folder.metrics, metricsOf(3));
    assert.equal((await read("", folder))!.metrics.length, 3);
    await writeJson(folder.progress, progressOf(4));
    assert.equal((await read("", folder))!.progress!.epoch!.epoch, 4);
    await Deno.remove(folder.progress);
    assert.equal((await read("", folder))!.state, "stopped");
    await Deno.remove(folder.config);
    assert.equal(await read("", folder), undefined);
  }),
);

Deno.test(
  "a page survives files that are being written or are damaged",
  withFolder(async (out) => {
    const folder = await makeRun(out, { epochs: 2, progress: progressOf(3) });
    const handler = viewOf(folder.path);
    for (const [path, text] of [[folder.progress, '{"time": "2026'], [folder.metrics, "[]\n{"]] as const) {
      await Deno.writeTextFile(path, text);
      assert.equal((await get(handler, "/")).status, 200, path);
    }
    await Deno.writeTextFile(folder.config, "{");
    assert.equal((await get(handler, "/")).status, 404);
  }),
);

Deno.test(
  "the page of a run that ends becomes the report, whose scripts do not run",
  withFolder(async (out) => {
    const folder = await makeRun(out, { epochs: 4, progress: progressOf(4) });
    const handler = viewOf(folder.path);
    await Deno.writeTextFile(folder.report, "<p>the report</p>");
    assert.equal((await get(handler, "/?part")).status, 200, "a report of an earlier process is outdated");
    await Deno.remove(folder.progress);
    await writeJson(folder.summary, { test: { accuracy: 1 } });
    assert.deepEqual(
      await get(handler, "/?part").then(({ status, text }) => [status, text]),
      [204, ""],
      "the script loads the page again",
    );
    const { text, headers } = await get(handler, "/");
    assert.equal(text, "<p>the report</p>");
    assert.match(headers.get("content-security-policy")!, /default-src 'none'.*sandbox$/);
  }),
);

Deno.test(
  "a run without updates for a minute is silent, and a failed run has its reason",
  withFolder(async (out) => {
    const killed = await makeRun(out, { progress: progressOf(2, new Date(Date.now() - 61_000)) });
    const { text } = await get(viewOf(killed.path), "/");
    assert.match(text, new RegExp(`no update since .*deno task train --resume ${killed.path}`));
    const failed = await makeRun(out, { failure: "the loss is NaN", report: "of an earlier start" });
    assert.match((await get(viewOf(failed.path), "/")).text, /failed: the loss is NaN/);
  }),
);

Deno.test(
  "requests of other hosts, origins and methods are rejected",
  withFolder(async (out) => {
    const { path } = await makeRun(out);
    const handler = viewOf(path);
    const host = await handler(new Request("http://evil.example/"));
    assert.deepEqual([host.status, (await host.json()).code], [403, "forbidden"]);
    const page = { headers: { origin: "https://evil.example" } };
    assert.equal((await get(handler, "/", page)).status, 403);
    assert.equal((await get(handler, "/", { method: "POST", body: "" })).status, 405);
    for (const name of ["127.0.0.1", "localhost", "[::1]"]) {
      assert.equal((await handler(new Request(`http://${name}:8100/`))).status, 200, name);
    }
  }),
);

Deno.test(
  "no name in a request leads out of the folder",
  withFolder(async (folder) => {
    const outside = await makeRun(`${folder}/secret`);
    const run = await makeRun(`${folder}/runs`);
    const handler = viewOf(`${folder}/runs`);
    const names = [
      `../secret/${nameOf(outside)}`,
      `tones/../../secret/${nameOf(outside)}`,
      outside.path,
      "..",
      ".",
      "",
      "tones",
      `${nameOf(run)}/config.json`,
      "__proto__",
    ];
    for (const name of names) {
      const { status } = await get(handler, `/run?${new URLSearchParams({ name })}`);
      assert.equal(status, 404, name);
    }
    for (const path of ["/../secret", "/%2e%2e/secret", `/${nameOf(run)}/config.json`, "/config.json"]) {
      assert.equal((await get(handler, path)).status, 404, path);
    }
    assert.equal((await get(handler, `/run?${new URLSearchParams({ name: nameOf(run) })}`)).status, 200);
  }),
);
