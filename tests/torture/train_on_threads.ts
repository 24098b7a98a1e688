/** `deno task train` on a number of threads, the first argument, whatever the machine has. */
import { main } from "../../tasks/command.ts";
import { train } from "../../tasks/train.ts";

const [threads, ...args] = Deno.args;
Object.defineProperty(navigator, "hardwareConcurrency", { value: Number(threads) });
await main(() => train(args));
