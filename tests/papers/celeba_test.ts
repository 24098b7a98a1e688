import assert from "node:assert/strict";
import { testLong } from "../devices.ts";

testLong("CelebA is read, learned from and evaluated, on images in the form of its archive", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    // The lock file does not have the package that decodes images.
    args: ["test", "--no-lock", "--no-check", "--allow-all", "tests/papers/celeba_checks.ts"],
    cwd: new URL("../..", import.meta.url),
  }).output();
  const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 0, `${out}\n${error}`);
});
