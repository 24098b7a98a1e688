/** Memory that a server retains after malformed requests. */
import assert from "node:assert/strict";
import { testLong } from "../devices.ts";
import { runProgram } from "../run_program.ts";
import { withFolder } from "../tasks/command_line.ts";
import { table } from "./served.ts";

testLong(
  "malformed requests leak no memory",
  withFolder(async (folder) => {
    // In a separate process, which can force garbage collection.
    const { code, stdout, stderr } = await runProgram(
      `
      import { malformedKinds, sendMalformed } from "./bench/malformed.ts";
      import { serviceOf, startServer } from "./src/serve/mod.ts";
      import { trainedRun } from "./tests/serve/served.ts";
      const run = await trainedRun(${JSON.stringify(folder)}, { online: true });
      const server = await startServer(serviceOf(run), { host: "127.0.0.1", port: 0 });
      // The minimum over some collections, so that closing connections do not count.
      const heap = async () => {
        let smallest = Infinity;
        for (let collection = 0; collection < 4; collection++) {
          await new Promise((resolve) => setTimeout(resolve, 50));
          gc();
          smallest = Math.min(smallest, Deno.memoryUsage().heapUsed);
        }
        return smallest;
      };
      const memory = () => Promise.resolve(0);
      const target = { url: server.url, table: ${JSON.stringify(table(4, false))}, secrets: [], memory };
      await sendMalformed(target, 60, 0);
      for (const kind of malformedKinds) {
        await sendMalformed(target, 10, 0, [kind]);
        const before = await heap();
        const { faults } = await sendMalformed(target, 100, 1, [kind]);
        console.log(JSON.stringify({ kind, grown: (await heap() - before) / 100, faults }));
      }
      await server.shutdown();
      console.log(Date.now());
      `,
      ["--allow-read", "--allow-write", "--allow-net", "--allow-env", "--no-check", "--v8-flags=--expose-gc"],
    );
    assert.equal(code, 0, stderr);
    const kinds = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assert.ok(Date.now() - kinds.pop() < 60_000, "the process did not exit after the server ended");
    assert.equal(kinds.length, 15);
    for (const { kind, grown, faults } of kinds) {
      assert.deepEqual(faults, []);
      assert.ok(grown < 4000, `${kind}: ${grown.toFixed(0)} bytes of each request are kept`);
    }
  }),
);
