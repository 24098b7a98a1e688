/** `deno task train` with a number of threads (the first argument) that does not depend on the machine. */
import { main } from "../../src/commands/command.ts";
import { experiments } from "../runs.ts";
import { train } from "../../src/commands/train.ts";

const [threads, ...args] = Deno.args;
Object.defineProperty(navigator, "hardwareConcurrency", { value: Number(threads) });
await main(() => train(args, experiments));
