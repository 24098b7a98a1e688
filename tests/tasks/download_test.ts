import assert from "node:assert/strict";
import { runTask } from "./command_line.ts";

Deno.test("a data set that cannot be downloaded is refused with those that can", async () => {
  const { code, stderr } = await runTask("download", "letters");
  assert.equal(code, 1);
  assert.match(stderr, /'letters' is invalid.*choices are character-trajectories/);
});
