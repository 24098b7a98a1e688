import assert from "node:assert/strict";

const root = new URL("../..", import.meta.url);

async function readJson(path: string) {
  return JSON.parse(await Deno.readTextFile(new URL(path, root)));
}

// Deno downloads every package of the lock file, whichever command runs.
Deno.test("the lock file lists the packages of deno.json alone, so that the first command downloads no others", async () => {
  const { specifiers, npm } = await readJson("deno.lock");
  const { imports } = await readJson("deno.json");
  assert.deepEqual(Object.keys(specifiers), Object.values(imports));
  assert.deepEqual(
    Object.keys(npm).length,
    Object.keys(imports).length,
    "none of them needs another package",
  );
});
