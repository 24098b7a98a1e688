/** Checks the format of the notebooks, because `deno fmt --check` of Deno 2.9 also rejects formatted notebooks. */
import assert from "node:assert/strict";

const folder = new URL("../../examples/", import.meta.url);
const notebooks = Array.from(Deno.readDirSync(folder), ({ name }) => name).filter((name) =>
  name.endsWith(".ipynb")
);

for (const name of notebooks) {
  Deno.test(`deno fmt does not change examples/${name}`, async () => {
    const text = await Deno.readTextFile(new URL(name, folder));
    const format = new Deno.Command(Deno.execPath(), {
      args: ["fmt", "--ext", "ipynb", "-"],
      cwd: folder,
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const [{ stdout }] = await Promise.all([
      format.output(),
      new Blob([text]).stream().pipeTo(format.stdin),
    ]);
    assert.equal(new TextDecoder().decode(stdout), text);
  });
}
