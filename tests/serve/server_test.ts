/** Servers on addresses of this machine. */
import assert from "node:assert/strict";
import { runTask, task, withFolder } from "../tasks/command_line.ts";
import { table, trainedRun } from "./served.ts";

Deno.test(
  "the command answers as predict does, to the bit, and ends at a signal",
  withFolder(async (folder) => {
    const { folder: { path } } = await trainedRun(folder);
    const csv = table(5, false);
    await Deno.writeTextFile(`${folder}/new.csv`, csv);
    const expected = await runTask("predict", path, `${folder}/new.csv`, "--device", "cpu");
    const child = task("serve", [path, "--port", "0", "--device", "cpu"]).spawn();
    const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const { value: line } = await stdout.read();
    const [, address] = /answers on (http:\/\/127\.0\.0\.1:\d+)/.exec(line!)!;
    const response = await fetch(`${address}/predict`, {
      method: "POST",
      body: csv,
      headers: { "content-type": "text/csv", accept: "application/x-ndjson" },
    });
    assert.equal(await response.text(), expected.stdout);
    child.kill("SIGTERM");
    const { code } = await child.status;
    assert.equal(await new Response(child.stderr).text(), "");
    await stdout.cancel();
    assert.equal(code, 0);
  }),
);
