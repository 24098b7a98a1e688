/**
 * Runs cases for `deno task torture`, which can kill this process if a case takes too long. Arguments: the
 * file that describes the targets, the seed, a working folder. Each line of the input is the number of a
 * case; each line of the output is the result of that case.
 */
import { init } from "../../src/compile/init.ts";
import { runCase } from "./cases.ts";
import type { World } from "./world.ts";

const [file, seed, folder] = Deno.args;
const world: World = JSON.parse(await Deno.readTextFile(file));
await init({ device: "cpu" });
const encoder = new TextEncoder();
const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
for await (const text of lines) {
  for (const line of text.trim().split("\n")) {
    const number = Number(line);
    const scratch = `${folder}/${number}`;
    await Deno.mkdir(scratch, { recursive: true });
    // Files that a case writes to an invalid path stay in this folder.
    Deno.chdir(scratch);
    const result = await runCase(world, Number(seed), number, scratch);
    Deno.chdir(folder);
    await Deno.remove(scratch, { recursive: true });
    Deno.stdout.writeSync(encoder.encode(`${JSON.stringify({ number, ...result })}\n`));
  }
}
