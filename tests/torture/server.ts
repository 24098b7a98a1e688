/**
 * Runs cases for `deno task torture`, which may end this process when one takes too long. Arguments: the file that describes
 * what is attacked, the seed, a folder to work in. Each line of the input is the number of a case; each line of the output
 * is what came of it.
 */
import { init } from "../../src/device/init.ts";
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
    // What a case writes to a path that makes no sense stays there too.
    Deno.chdir(scratch);
    const verdict = await runCase(world, Number(seed), number, scratch);
    Deno.chdir(folder);
    await Deno.remove(scratch, { recursive: true });
    Deno.stdout.writeSync(encoder.encode(`${JSON.stringify({ number, ...verdict })}\n`));
  }
}
