/** Runs the program of docs/extending.md as a user's file with access only to Weft's exports. */
import assert from "node:assert/strict";

const root = new URL("..", import.meta.url);

Deno.test("a user's file outside the repository brings a path, a method and a rule, and trains with them", async () => {
  const page = await Deno.readTextFile(new URL("docs/extending.md", root));
  const [, program, output] = /```ts\n([^]*?)```\s+```text\n([^]*?)```/.exec(page)!;
  assert.ok(program.trim().split("\n").length <= 40);
  const { name, exports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  const imports = Object.fromEntries(
    Object.entries<string>(exports).map(([part, file]) => [name + part.slice(1), new URL(file, root).href]),
  );
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify({ imports }));
    await Deno.writeTextFile(`${folder}/own.ts`, program);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "own.ts"],
      cwd: folder,
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.equal(new TextDecoder().decode(stdout), output);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
