/** Memory that a server returns to the operating system. */
import assert from "node:assert/strict";
import { runProgram } from "../run_program.ts";

/** Megabytes of the process with 128 MiB of garbage in its heap, before and after attempts to return them. */
async function trimmed(
  env: Record<string, string>,
  attempts: number,
): Promise<{ before: number; after: number }> {
  const { code, stdout, stderr } = await runProgram(
    `
    import { memoryTrimmer } from "./src/serve/predictions/collect.ts";
    const trim = memoryTrimmer();
    const megabytes = () => Math.round(Deno.memoryUsage().rss / 1e6);
    let garbage = Array.from({ length: 128 }, () => new Uint8Array(2 ** 20).fill(1));
    const before = megabytes();
    garbage = [];
    const attempts = ${attempts};
    for (let attempt = 0; attempt < attempts && before - megabytes() < 100; attempt++) {
      trim("idle");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    console.log(JSON.stringify({ before, after: megabytes() }));
    `,
    ["--allow-env=DENO_USR2_MEMORY_TRIM", "--no-check"],
    { env },
  );
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

Deno.test({
  name: "Deno with the variable of trims returns garbage to Linux",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const { before, after } = await trimmed({ DENO_USR2_MEMORY_TRIM: "1" }, 200);
    assert.ok(before - after > 100, `${before} MB became ${after} MB`);
  },
});

Deno.test("a process without the variable of trims gets no signal", async () => {
  const { before, after } = await trimmed({}, 10);
  assert.ok(before - after < 100, `${before} MB became ${after} MB`);
});
