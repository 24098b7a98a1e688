/** The README's example is run as it is printed. */
import assert from "node:assert/strict";

const root = new URL("..", import.meta.url);
const readme = await Deno.readTextFile(new URL("README.md", root));

/** The first block of a language. */
function block(language: string, after = 0): string {
  const found = new RegExp("```" + language + "\\n(.*?)```", "s").exec(readme.slice(after));
  assert.ok(found, `README.md has no block of ${language}`);
  return found[1];
}

Deno.test("the README's example runs without permissions and prints what the README says", async () => {
  const example = block("ts");
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "-"],
    cwd: root,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(example));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  assert.equal(new TextDecoder().decode(stdout), block("text", readme.indexOf(example)));
});
