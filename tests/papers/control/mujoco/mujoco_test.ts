import assert from "node:assert/strict";
import { testLong } from "../../../devices.ts";

testLong("MuJoCo simulates the swimmer and the hopper, and models learn from it", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    // The lock file does not have the package of the physics engine.
    args: ["test", "--no-lock", "--no-check", "--allow-all", "tests/papers/control/mujoco/mujoco_checks.ts"],
    cwd: new URL("../../../..", import.meta.url),
  }).output();
  const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 0, `${out}\n${error}`);
});
