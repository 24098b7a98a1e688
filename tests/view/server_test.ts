/** Servers of views on local addresses. */
import assert from "node:assert/strict";
import { startView } from "../../src/view/server.ts";
import { startViewThread } from "../../src/view/thread.ts";
import { testLong } from "../devices.ts";
import { runTask, task, withFolder } from "../tasks/command_line.ts";
import { makeRun, progressOf } from "./folders.ts";

/** Sends bytes to a server, and returns the first line of its answer. */
async function send(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(text));
  const buffer = new Uint8Array(1000);
  const count = await connection.read(buffer) ?? 0;
  connection.close();
  return new TextDecoder().decode(buffer.subarray(0, count)).split("\r\n")[0];
}

testLong(
  "a view answers after clients that disconnect, and rejects raw paths and foreign hosts",
  withFolder(async (out) => {
    const { path } = await makeRun(out, { progress: progressOf(1) });
    await using view = startView(path, 0);
    assert.match(view.url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
    const { hostname, port } = new URL(view.url);
    for (const text of ["", "GET / HT", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"]) {
      for (let i = 0; i < 20; i++) {
        const connection = await Deno.connect({ hostname, port: Number(port) });
        if (text) await connection.write(new TextEncoder().encode(text));
        connection.close();
      }
    }
    for (let i = 0; i < 20; i++) {
      const controller = new AbortController();
      const response = fetch(view.url, { signal: controller.signal });
      controller.abort();
      await assert.rejects(response);
    }
    const request = (path: string, host: string) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    assert.equal(await send(view.url, request("/", "localhost")), "HTTP/1.1 200 OK");
    assert.equal(await send(view.url, request("/", "evil.example")), "HTTP/1.1 403 Forbidden");
    assert.equal(await send(view.url, request("/../config.json", "127.0.0.1")), "HTTP/1.1 404 Not Found");
    assert.equal(await send(view.url, request("//evil.example/", "127.0.0.1")), "HTTP/1.1 404 Not Found");
  }),
);

Deno.test(
  "a port in use is an error, and without a port the view takes a free one",
  withFolder(async (out) => {
    const { path } = await makeRun(out);
    await using first = startView(path, 0);
    const port = Number(new URL(first.url).port);
    assert.throws(
      () => startView(path, port),
      /^OptionError: 127\.0\.0\.1:\d+: another process uses the port/,
    );
    await assert.rejects(startViewThread(path, port), /^OptionError: .*another process uses the port/);
    const { code, stderr } = await runTask("view", path, "--port", `${port}`);
    assert.equal(code, 1);
    assert.match(stderr, /^error: 127\.0\.0\.1:\d+: another process uses the port; choose another port/);
    await using one = startView(path);
    await using other = startView(path);
    assert.notEqual(one.url, other.url);
  }),
);

/** The text of a page, when it contains a part. Asks 1,000 times. */
async function pageWith(url: string, part: RegExp): Promise<string> {
  let text = "";
  for (let i = 0; i < 1000; i++) {
    text = await (await fetch(url)).text();
    if (part.test(text)) return text;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no page with ${part}: ${text}`);
}

testLong(
  "a view of a folder shows a run that is killed and resumed, and --view shows the run to its report",
  withFolder(async (out) => {
    const path = `${out}/runs/spiral`;
    const words = ["spirals", "--device", "cpu", "--batch-size", "2", "--epochs", "5", "--run", path];
    await Deno.mkdir(`${out}/runs`);
    await using folder = startView(`${out}/runs`, 0);
    const killed = task("train", words).spawn();
    await pageWith(folder.url, /<td[^>]*>training, [1-9]\d? %<\/td>.*<td class="number">[0-4] of 5<\/td>/s);
    killed.kill("SIGKILL");
    await killed.status;
    await Promise.all([killed.stdout.cancel(), killed.stderr.cancel()]);

    const resumed = task("train", [...words, "--view", "0"]).spawn();
    const printed = resumed.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let url: string | undefined;
    for (let text = ""; !url; text += (await printed.read()).value) url = /view (http:\S+)/.exec(text)?.[1];
    await pageWith(url!, /in training on .*Test samples with their predicted classes/s);
    // The process serves the report to a page that is open.
    const report = await pageWith(url!, /trained for 5 epochs/);
    assert.equal(report, await Deno.readTextFile(`${path}/report.html`));
    assert.equal((await resumed.status).code, 0, await new Response(resumed.stderr).text());
    await printed.cancel();
    assert.match(await (await fetch(folder.url)).text(), /<td[^>]*>complete<\/td>/);
  }),
);
