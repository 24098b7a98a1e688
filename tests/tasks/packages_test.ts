import assert from "node:assert/strict";

const root = new URL("../..", import.meta.url);

// Deno downloads every package of the lock file, whichever command runs.
Deno.test("the first command downloads only packages that it uses", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "tasks/train.ts"],
    cwd: root,
  }).output();
  const graph = JSON.parse(new TextDecoder().decode(stdout));
  const lock = JSON.parse(await Deno.readTextFile(new URL("deno.lock", root)));
  const unused = Object.keys(lock.npm).filter((name) => !(name in graph.npmPackages));
  assert.deepEqual(unused, []);
});
