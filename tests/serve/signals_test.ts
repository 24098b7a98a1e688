/** Signals to a server. */
import assert from "node:assert/strict";
import { withFolder } from "../tasks/command_line.ts";
import { connect, post, sleep } from "../torture/serving/client.ts";
import { startAttacked } from "../torture/serving/process.ts";
import { trainedRun } from "./served.ts";
import { testLong } from "../devices.ts";

/** A table whose predictions take minutes. */
function longTable(): string {
  const rows = Array.from({ length: 300_000 }, (_, i) => `${i % 30_000},${Math.floor(i / 30_000)},1,er\n`);
  return `series,time,x,ward\n${rows.join("")}`;
}

testLong(
  "a server ends after its grace period while it computes, and a second signal ends it at once",
  withFolder(async (folder) => {
    const run = (await trainedRun(folder, { online: true })).folder.path;
    const table = post(longTable());
    for (const signals of [["SIGTERM"], ["SIGTERM", "SIGTERM"], ["SIGINT", "SIGINT"]] as const) {
      const grace = signals.length === 1 ? 0.5 : 600;
      await using server = await startAttacked(run, { args: ["--grace", `${grace}`] });
      using connection = await connect(server.port);
      await connection!.write(table, 10_000);
      await sleep(300);
      for (const signal of signals) {
        server.process.kill(signal);
        await sleep(200);
      }
      const late = sleep(20_000).then(() => undefined);
      const status = await Promise.race([server.process.status, late]);
      const expected = signals.length === 1 ? 0 : signals[0] === "SIGINT" ? 130 : 143;
      assert.equal(status?.code, expected, `${signals}: ${server.log}`);
      if (signals.length === 1) {
        assert.match(server.log, /requests were running after 0\.5 s: their connections were closed/);
      }
    }
  }),
);
