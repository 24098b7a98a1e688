/** The steps of the Dockerfile, in an empty folder and without a container. */
import assert from "node:assert/strict";
import { withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";
import { trainedRun } from "./served.ts";

const root = new URL("../../", import.meta.url);
const text = await Deno.readTextFile(new URL("Dockerfile", root));

/** The arguments of all instructions of a kind. */
function instructions(kind: string): string[] {
  return text.split("\n").flatMap((line) => line.startsWith(`${kind} `) ? [line.slice(kind.length + 1)] : []);
}

/** Copies a file, or a folder with everything in it. */
async function copy(from: URL, to: string): Promise<void> {
  if ((await Deno.stat(from)).isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to, { recursive: true });
  for await (const { name } of Deno.readDir(from)) await copy(new URL(`${from}/${name}`), `${to}/${name}`);
}

/** Runs a command of the image, whose first word is `deno`. */
function start([program, ...args]: readonly string[], cwd: string): Deno.ChildProcess {
  assert.equal(program, "deno");
  return new Deno.Command(Deno.execPath(), { args, cwd, stdout: "piped", stderr: "piped" }).spawn();
}

Deno.test("the image has the version of Deno that the documentation names, and copies what the context contains", async () => {
  const [image] = instructions("FROM");
  const guide = await Deno.readTextFile(new URL("docs/research/reproduce.md", root));
  assert.ok(guide.includes(`image: ${image}`));
  const context = (await Deno.readTextFile(new URL(".dockerignore", root))).trim().split("\n");
  const copied = instructions("COPY").flatMap((paths) => paths.split(" ").slice(0, -1));
  assert.deepEqual(context, ["*", ...copied.map((path) => `!${path}`)]);
});

testLong(
  "the image serves a run from the files that it copies, reports its health, and ends at SIGTERM",
  withFolder(async (folder) => {
    const run = (await trainedRun(folder)).folder.path;
    const image = `${folder}/weft`;
    await Deno.mkdir(image);
    for (const paths of instructions("COPY")) {
      for (const path of paths.split(" ").slice(0, -1)) await copy(new URL(path, root), `${image}/${path}`);
    }
    for (const command of instructions("RUN")) {
      assert.equal((await start(command.split(" "), image).output()).code, 0);
    }
    const [entry] = instructions("ENTRYPOINT").map((list) => JSON.parse(list) as string[]);
    await using server = start([...entry, run, "--port", "0"], image);
    let output = "";
    for await (const part of server.stdout.pipeThrough(new TextDecoderStream())) {
      output += part;
      if (/http:\/\/\S+:\d+/.test(output)) break;
    }
    const [, port] = output.match(/http:\/\/\S+?:(\d+)/) ?? [];
    const [check] = instructions("HEALTHCHECK").map((line) =>
      JSON.parse(line.slice(line.indexOf("["))) as string[]
    );
    const health = start(check.map((word) => word.replace(":8000", `:${port}`)), image);
    assert.equal((await health.output()).code, 0, output);
    server.kill("SIGTERM");
    assert.equal((await server.status).code, 0);
    await server.stderr.cancel();
  }),
);
