/** Runs the examples of the documentation as printed. */
import assert from "node:assert/strict";
import { testLong } from "./devices.ts";
import { runProgram } from "./run_program.ts";

const root = new URL("..", import.meta.url);

/** Programs on a page, each with the output that follows it. */
async function examples(page: string): Promise<{ program: string; output: string }[]> {
  const text = await Deno.readTextFile(new URL(page, root));
  const pairs = Array.from(text.matchAll(/```ts\n((?:(?!```)[^])*)```\s+```text\n([^]*?)```/g));
  assert.ok(pairs.length > 0, `${page} has no program that is followed by its output`);
  return pairs.map(([, program, output]) => ({ program, output }));
}

for (
  const page of [
    "README.md",
    "docs/coming_from.md",
    "docs/compiled_loops.md",
    "docs/fast_weights.md",
    "docs/warp.md",
  ]
) {
  for (const [i, { program, output }] of (await examples(page)).entries()) {
    const test = page === "README.md" ? Deno.test : testLong;
    test(
      `example ${i + 1} of ${page} runs without permissions and prints what the page says`,
      async () => {
        const { code, stdout, stderr } = await runProgram(program);
        assert.equal(code, 0, stderr);
        assert.equal(stdout, output);
      },
    );
  }
}
