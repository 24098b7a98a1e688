/** Draws the figures of the documentation that are computed in a moment. */
import { init } from "../src/device/init.ts";
import { associativeMemoryFigure } from "../src/train/associative_memory.ts";
import { writeAtomically } from "../src/files/disk.ts";
import { command, main, prepareDrivers } from "./command.ts";

const figures: Readonly<Record<string, () => Promise<string>>> = {
  "associative_memory.svg": associativeMemoryFigure,
};

const program = command("figures", "Draws the figures of the documentation that are computed in a moment")
  .option("--out <folder>", "where they go", "docs/figures");

await main(async (args) => {
  program.parse(args, { from: "user" });
  prepareDrivers();
  await init({ device: "cpu" });
  const { out } = program.opts<{ out: string }>();
  await Deno.mkdir(out, { recursive: true });
  for (const [file, draw] of Object.entries(figures)) await writeAtomically(`${out}/${file}`, await draw());
  return 0;
});
