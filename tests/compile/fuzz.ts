/** Compares random loops, compiled and step by step: results and gradients. */
import { init } from "../../mod.ts";
import { asCode, difference, optionsOf, randomBody, shrink, tolerances } from "./random_body.ts";
import type { RandomBody } from "./random_body.ts";
import { command, main, number, wholeFrom } from "../../tasks/command.ts";

const program = command("fuzz", "Compares random loops, compiled and step by step: results and gradients.")
  .option("--cases <number>", "loops to try", wholeFrom(1), 100)
  .option("--seed <number>", "of the first loop; the others follow", wholeFrom(0), 0)
  .option("--device <name>", "cpu or webgpu", "cpu")
  .option("--implementation <name>", "of WebGPU: native or dawn", "native")
  .option("--jit", "run the compiled ones under jit", false)
  .option("--tolerance <number>", "largest relative difference", number({ above: 0 }));

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { cases, seed, device, implementation, tolerance, jit } = program.opts();
  const compare = (body: RandomBody) => difference(body, dtype, { ...optionsOf(body), jit });

  const chosen = await init({ device, implementation });
  const dtype = device === "cpu" ? "float64" : "float32";
  const allowed = tolerance ?? tolerances[dtype];

  let failures = 0;
  let loops = 0;
  for (let i = 0; i < cases; i++) {
    const body = randomBody(seed * 1_000_000 + i);
    const outcome = await compare(body).catch((error: Error) => ({
      worst: Infinity,
      where: error.stack ?? "",
      loops: 0,
    }));
    loops += outcome.loops;
    if (outcome.worst <= allowed) continue;
    failures++;
    console.error(`case ${i}: ${outcome.where} differs by ${outcome.worst.toExponential(2)}`);
    const fails = async (smaller: RandomBody) =>
      await compare(smaller).then(
        ({ worst }) => !(worst <= allowed),
        () => outcome.worst === Infinity,
      );
    console.error(asCode(await shrink(body, fails), dtype));
    if (failures >= 5) break;
  }
  console.log(
    `${cases} cases on ${chosen.info.description}, ${dtype}: ${loops} loops compiled, ${failures} cases failed`,
  );
  // A compiler that refuses everything has been compared with itself.
  return failures > 0 || loops === 0 ? 1 : 0;
});
